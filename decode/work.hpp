#pragma once
// What a program of this folder does, one kind of work for each process.

#include <functional>
#include <string_view>

#include "base/channel.hpp"
#include "base/decoder.hpp"
#include "input.hpp"

namespace parsnets::decode {

/// Answers questions until the other side closes the channel, which ends it by ChannelEnded.
using Work = std::function<void(Channel&)>;

/// The work of this name, after all that needs files. Empty: there is none in this program.
Work open_work(std::string_view name);

inline void put_reply(Channel& channel, DecoderReply reply) { channel.put_number(static_cast<std::uint64_t>(reply)); }

/// Calls find(), which puts what it finds, and says that this is all, or what is wrong with the file.
void answer(Channel& channel, const std::function<void()>& find);

}  // namespace parsnets::decode
