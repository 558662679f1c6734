// Forwards connections to a local port and delays everything, as a network does:
//
//   benchmark-delay LISTEN-PORT PORT MICROSECONDS
//
// Tools/benchmark-shared compiles and starts it. It needs Linux.
//
// Each piece is sent when the delay has passed since it arrived, so pieces that follow one another closely stay close.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// What one end has sent and the other has not got yet.
struct Direction {
  /// Empty bytes mean that the source has ended.
  struct Piece {
    Clock::time_point due;
    std::vector<char> bytes;
    size_t sent = 0;
  };

  /// The most bytes on the way; then nothing more is read.
  static constexpr size_t limit = 4 << 20;

  int source, target;
  std::deque<Piece> pieces = {};
  size_t byteCount = 0;
  bool hasEnded = false, isOver = false;

  bool reads() const { return !hasEnded && byteCount < limit; }
  bool sends(Clock::time_point now) const { return !pieces.empty() && pieces.front().due <= now; }

  void read(std::chrono::microseconds delay) {
    std::vector<char> bytes(1 << 16);
    const ssize_t count = recv(source, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    hasEnded = bytes.empty();
    byteCount += bytes.size();
    pieces.push_back({Clock::now() + delay, std::move(bytes)});
  }

  void send() {
    Piece &piece = pieces.front();
    if (piece.bytes.empty()) {
      shutdown(target, SHUT_WR);
      isOver = true;
      pieces.clear();
      return;
    }
    const size_t rest = piece.bytes.size() - piece.sent;
    const ssize_t count = ::send(target, piece.bytes.data() + piece.sent, rest, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // A target that is gone takes no more, and its source must learn of it.
    if (count < 0) shutdown(source, SHUT_RD);
    const size_t done = count < 0 ? rest : static_cast<size_t>(count);
    piece.sent += done;
    byteCount -= done;
    if (piece.sent == piece.bytes.size()) pieces.pop_front();
  }
};

struct Connection {
  Direction there, back;
};

[[noreturn]] void fail(const char *what) {
  perror(what);
  exit(1);
}

sockaddr_in local(const char *port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void setNoDelay(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: benchmark-delay LISTEN-PORT PORT MICROSECONDS\n");
    return 64;
  }
  const sockaddr_in own = local(arguments[1]), server = local(arguments[2]);
  const std::chrono::microseconds delay(atol(arguments[3]));
  // Otherwise Linux wakes up to 50 microseconds late.
  prctl(PR_SET_TIMERSLACK, 1);

  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, reinterpret_cast<const sockaddr *>(&own), sizeof own) != 0) fail("bind");
  if (listen(listener, 64) != 0) fail("listen");

  std::list<Connection> connections;
  while (true) {
    std::vector<pollfd> waits = {{listener, POLLIN, 0}};
    std::vector<Direction *> directions;
    Clock::time_point next = Clock::time_point::max();
    const Clock::time_point now = Clock::now();
    for (Connection &connection : connections) {
      for (Direction *direction : {&connection.there, &connection.back}) {
        if (direction->isOver) continue;
        directions.push_back(direction);
        // A negative number is no descriptor, and poll leaves it out.
        waits.push_back({direction->reads() ? direction->source : -1, POLLIN, 0});
        waits.push_back({direction->sends(now) ? direction->target : -1, POLLOUT, 0});
        if (!direction->pieces.empty() && direction->pieces.front().due > now)
          next = std::min(next, direction->pieces.front().due);
      }
    }
    timespec time = {};
    if (next != Clock::time_point::max()) {
      const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(next - now).count();
      time = {static_cast<time_t>(rest / 1000000000), static_cast<long>(rest % 1000000000)};
    }
    if (ppoll(waits.data(), waits.size(), next == Clock::time_point::max() ? nullptr : &time, nullptr) < 0 &&
        errno != EINTR)
      fail("poll");

    for (size_t index = 0; index < directions.size(); index++) {
      Direction &direction = *directions[index];
      if (waits[1 + 2 * index].revents != 0) direction.read(delay);
      const Clock::time_point sending = Clock::now();
      while (!direction.isOver && direction.sends(sending)) {
        const size_t before = direction.byteCount;
        direction.send();
        if (!direction.isOver && direction.byteCount == before) break;
      }
    }
    connections.remove_if([](const Connection &connection) {
      if (!connection.there.isOver || !connection.back.isOver) return false;
      close(connection.there.source);
      close(connection.there.target);
      return true;
    });
    if (waits[0].revents != 0) {
      const int client = accept(listener, nullptr, nullptr);
      if (client < 0) continue;
      const int target = socket(AF_INET, SOCK_STREAM, 0);
      if (connect(target, reinterpret_cast<const sockaddr *>(&server), sizeof server) != 0) {
        close(client);
        close(target);
        continue;
      }
      setNoDelay(client);
      setNoDelay(target);
      connections.push_back({{client, target}, {target, client}});
    }
  }
}
