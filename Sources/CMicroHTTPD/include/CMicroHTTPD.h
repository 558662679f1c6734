// libmicrohttpd, with wrappers for what Swift can't use: functions with variable arguments, and constants that are
// casts.

#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

/// Listens on the loopback interface and answers each connection on a separate thread. Returns NULL if the port is
/// taken or the system lacks a resource; `errno` has the reason.
///
/// @param port the port; 0 for a free one
/// @param connection_limit the most connections; further ones are closed at once
/// @param idle_seconds the seconds without a byte in either direction after which a connection is closed
/// @param head_byte_limit the most bytes of the request line and the headers
struct MHD_Daemon *chttp_start(
    uint16_t port, unsigned connection_limit, unsigned idle_seconds, size_t head_byte_limit,
    MHD_AccessHandlerCallback answer, MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback connected,
    void *context);

uint16_t chttp_port(struct MHD_Daemon *server);

/// The socket of a connection; -1 if there is none.
int chttp_socket(struct MHD_Connection *connection);

/// The length to give for a body of unknown length.
uint64_t chttp_unknown_length(void);
/// The results that a callback returns at the end of a body, and after a failure.
ssize_t chttp_end_of_body(void);
ssize_t chttp_failed_body(void);

#endif
