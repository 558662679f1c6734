// libmicrohttpd, and what of it Swift can't call: functions with variable arguments, and constants that are casts.

#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

/// How a server is run.
typedef struct {
  /// 0: one that is free.
  uint16_t port;
  /// How many connections there are at most; further ones are closed at once.
  unsigned connection_limit;
  /// After how many seconds without a byte in either direction a connection is closed.
  unsigned idle_seconds;
  /// How many bytes the line and the headers of a request may have.
  size_t head_byte_limit;
  /// Of the thread that each connection has.
  size_t stack_byte_count;
} chttp_options;

/// Listens on the loopback and answers each connection on a thread of its own. NULL when the port is taken or the
/// system lacks something; `errno` says what.
struct MHD_Daemon *chttp_start(
    const chttp_options *options, MHD_AccessHandlerCallback answer, MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback connected, void *context);

/// The port that a server listens on.
uint16_t chttp_port(struct MHD_Daemon *server);

/// The socket of a connection; -1 when there is none.
int chttp_socket(struct MHD_Connection *connection);

/// The length of a body that ends when it ends.
uint64_t chttp_unknown_length(void);
/// What a body's reader returns at its end, and when it can't go on.
ssize_t chttp_end_of_body(void);
ssize_t chttp_failed_body(void);

#endif
