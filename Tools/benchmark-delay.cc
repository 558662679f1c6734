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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// Sends to one socket what another one receives, until that ends.
void forward(int source, int target, std::chrono::microseconds delay) {
  struct Piece {
    Clock::time_point due;
    // No bytes mean that the source has ended.
    std::vector<char> bytes;
  };
  std::mutex mutex;
  std::condition_variable hasPiece;
  std::deque<Piece> pieces;

  std::thread sender([&] {
    // By default, Linux wakes a thread up to 50 microseconds late.
    prctl(PR_SET_TIMERSLACK, 1);
    while (true) {
      std::unique_lock<std::mutex> lock(mutex);
      hasPiece.wait(lock, [&] { return !pieces.empty(); });
      const Piece piece = std::move(pieces.front());
      pieces.pop_front();
      lock.unlock();
      if (piece.bytes.empty()) break;
      std::this_thread::sleep_until(piece.due);
      for (size_t sent = 0; sent < piece.bytes.size();) {
        const ssize_t count = send(target, piece.bytes.data() + sent, piece.bytes.size() - sent, MSG_NOSIGNAL);
        // A target that has closed takes no more, and its source must learn of it.
        if (count < 0) shutdown(source, SHUT_RD);
        sent = count < 0 ? piece.bytes.size() : sent + static_cast<size_t>(count);
      }
    }
    shutdown(target, SHUT_WR);
  });
  for (bool hasEnded = false; !hasEnded;) {
    std::vector<char> bytes(1 << 16);
    const ssize_t count = recv(source, bytes.data(), bytes.size(), 0);
    bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
    hasEnded = bytes.empty();
    std::lock_guard<std::mutex> lock(mutex);
    pieces.push_back({Clock::now() + delay, std::move(bytes)});
    hasPiece.notify_one();
  }
  sender.join();
}

sockaddr_in local(const char *port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: benchmark-delay LISTEN-PORT PORT MICROSECONDS\n");
    return 64;
  }
  const sockaddr_in own = local(arguments[1]), server = local(arguments[2]);
  const std::chrono::microseconds delay(atol(arguments[3]));
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, reinterpret_cast<const sockaddr *>(&own), sizeof own) != 0 || listen(listener, 64) != 0) {
    perror("listening");
    return 1;
  }
  while (true) {
    const int client = accept(listener, nullptr, nullptr);
    if (client < 0) continue;
    const int target = socket(AF_INET, SOCK_STREAM, 0);
    for (const int end : {client, target}) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const bool isConnected = connect(target, reinterpret_cast<const sockaddr *>(&server), sizeof server) == 0;
    std::thread([=] {
      if (isConnected) {
        std::thread back(forward, target, client, delay);
        forward(client, target, delay);
        back.join();
      }
      close(client);
      close(target);
    }).detach();
  }
}
