#include "CMicroHTTPD.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

// Resolves percent escapes. A path with an escaped NUL, which would hide the rest of the path, stays as it is.
static size_t unescape(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  if (text[0] == '/' && strstr(text, "%00") != NULL) return strlen(text);
  return MHD_http_unescape(text);
}

struct MHD_Daemon *chttp_start(
    uint16_t port, unsigned connection_limit, unsigned idle_seconds, size_t head_byte_limit,
    MHD_AccessHandlerCallback answer, MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback connected,
    void *context) {
  struct sockaddr_in address = {0};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, port, NULL, NULL, answer, context,
      MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT, connection_limit,
      MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, head_byte_limit,
      MHD_OPTION_THREAD_STACK_SIZE, (size_t)2 << 20, MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_NOTIFY_CONNECTION, connected, context, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

uint16_t chttp_port(struct MHD_Daemon *server) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server, MHD_DAEMON_INFO_BIND_PORT);
  return info == NULL ? 0 : info->port;
}

int chttp_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

uint64_t chttp_unknown_length(void) { return MHD_SIZE_UNKNOWN; }
ssize_t chttp_end_of_body(void) { return MHD_CONTENT_READER_END_OF_STREAM; }
ssize_t chttp_failed_body(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }
