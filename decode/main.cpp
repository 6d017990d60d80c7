// parsnets-decode and parsnets-decode-photos: read for the library what others made, in a sandbox. Started by it, not
// by people.

#include <unistd.h>

#include <cstdlib>
#include <new>

#include "parsnets/error.hpp"
#include "sandbox.hpp"
#include "work.hpp"

namespace parsnets::decode {

void answer(Channel& channel, const std::function<void()>& find) {
  BadInput wrong;
  try {
    find();
  } catch (const ChannelEnded&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const Error& error) {
    wrong = error.parts();
    if (wrong.expected.empty()) wrong = {"", "", "a valid file", error.what(), ""};
  } catch (const std::exception& error) {  // std::length_error, say, of a size that makes no sense
    wrong = {"", "", "a valid file", error.what(), "the file is damaged or truncated: copy or save it again"};
  }
  put_reply(channel, wrong.expected.empty() ? DecoderReply::done : DecoderReply::refused);
  if (!wrong.expected.empty())
    for (const std::string& part : {wrong.field, wrong.expected, wrong.found, wrong.advice})
      channel.put_text(std::string_view(part).substr(0, 1024));
  channel.send();
}

}  // namespace parsnets::decode

int main(int count, char** words) {
  using namespace parsnets;
  try {
    const auto work = count == 4 ? decode::open_work(words[1]) : nullptr;
    if (!work) return 2;
    Channel channel{Descriptor(kDecoderSocket)};
    const std::string sandbox =
        enter_sandbox(std::strtoull(words[2], nullptr, 10), static_cast<unsigned>(std::strtoul(words[3], nullptr, 10)));
    channel.put_text(kDecoderGreeting);
    channel.put_text(sandbox);
    channel.send();
    work(channel);
  } catch (const ChannelEnded&) {  // all is asked
  } catch (const std::bad_alloc&) {
    ::_exit(kDecoderLacksMemory);
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}
