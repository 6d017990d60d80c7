#pragma once
// Takes connections from a socket that listens, and tells those for which there is no room.

#include <chrono>
#include <functional>
#include <string>

namespace parsnets {

/// Until `stop` becomes readable. `listening` must not block. `take` gets a socket, which does not block, and the bytes
/// of the client's address, of IPv6 those of the network; it becomes the owner of the socket unless it returns false or
/// throws bad_alloc. Connections that it does not take get 503, after `refused` was called, and are closed when
/// the client has hung up or after `drain`.
void accept_connections(int listening, int stop, std::chrono::milliseconds drain,
                        const std::function<bool(int, std::string)>& take, const std::function<void()>& refused);

}  // namespace parsnets
