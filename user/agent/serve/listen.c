/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/serve/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/files/sudo_user.h"

#define BACKLOG 16
#define UNIX_PREFIX "unix:"

static int fail(struct error *err, int errnum, const char *address, const char *why)
{
	return error_set(err, errnum, EXIT_CODE_USAGE, "cannot listen on %s: %s", address, why);
}

/* Removes a socket that an earlier server has left, if nobody answers there. */
static void remove_stale(const struct sockaddr_un *at)
{
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd < 0 || lstat(at->sun_path, &st) || !S_ISSOCK(st.st_mode) ||
	    st.st_uid != sudo_user_uid())
		return;
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) && errno == ECONNREFUSED)
		unlink(at->sun_path);
}

static int open_unix(const char *path, const char *address, struct error *err)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int r;
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (*path != '/' || strlen(path) >= sizeof(at.sun_path))
		return fail(err, EINVAL, address,
			    "the path must begin with / and have at most 107 bytes");
	memcpy(at.sun_path, path, strlen(path));
	r = sudo_user_enter(&scope);
	if (r)
		return fail(err, -r, address, strerror(-r));
	remove_stale(&at);
	/* The socket is created with its final mode, so others can connect at no time. */
	if (fd < 0 || fchmod(fd, 0600) || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(fd, BACKLOG))
		return fail(err, errno, address, strerror(errno));
	return take_fd(&fd);
}

/* Splits host and port; looks up no name. */
static int split(const char *address, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t len = colon ? (size_t)(colon - address) : 0;

	*port = colon ? colon + 1 : address;
	if (!**port || strspn(*port, "0123456789") != strlen(*port) || atoi(*port) > 65535)
		return -EINVAL;
	if (len > 2 && *address == '[' && address[len - 1] == ']') {
		address++;
		len -= 2;
	}
	if (len >= size)
		return -EINVAL;
	snprintf(host, size, "%.*s", (int)len, address);
	if (!*host || !strcmp(host, "localhost"))
		snprintf(host, size, "127.0.0.1");
	return 0;
}

static int open_inet(const char *address, struct error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *at = NULL;
	char host[64];
	const char *port;
	cleanup_close int fd = -1;
	int one = 1, r;

	if (split(address, host, sizeof(host), &port) || getaddrinfo(host, port, &hints, &at))
		return fail(err, EINVAL, address, "name an IP address and a port, or a port alone");
	fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, BACKLOG);
	r = r ? fail(err, errno, address, strerror(errno)) : 0;
	freeaddrinfo(at);
	return r ? r : take_fd(&fd);
}

int listen_open(const char *address, bool *ret_in_files, struct error *err)
{
	*ret_in_files = !strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX));
	return *ret_in_files ? open_unix(address + strlen(UNIX_PREFIX), address, err) :
			       open_inet(address, err);
}

unsigned listen_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t len = sizeof(at);

	if (getsockname(fd, &at.any, &len))
		return 0;
	return at.any.sa_family == AF_INET  ? ntohs(at.v4.sin_port) :
	       at.any.sa_family == AF_INET6 ? ntohs(at.v6.sin6_port) :
					      0;
}

void listen_close(int fd)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	struct sockaddr_un at = { 0 };
	socklen_t len = sizeof(at) - 1;

	if (fd < 0)
		return;
	if (!getsockname(fd, (struct sockaddr *)&at, &len) && at.sun_family == AF_UNIX &&
	    *at.sun_path && !sudo_user_enter(&scope))
		unlink(at.sun_path);
	close(fd);
}
