/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text/log.h"

/* sd_notify(3) defines the protocol: a datagram to the socket that the environment names. */
struct notify {
	struct sockaddr_un address;
	socklen_t address_len;
	int fd; /* -1: nobody listens */
	__u64 watchdog_ns; /* between two signs of life; 0: not wanted */
	__u64 next_ns;
	unsigned steps;
};

/* A path, or "@name" in the abstract namespace. */
static int find_socket(struct notify *n, const char *name)
{
	size_t len = strlen(name);

	if ((*name != '/' && *name != '@') || len < 2 || len >= sizeof(n->address.sun_path))
		return -EAFNOSUPPORT;
	n->address.sun_family = AF_UNIX;
	memcpy(n->address.sun_path, name, len);
	n->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (*name == '@')
		n->address.sun_path[0] = '\0';
	else
		n->address_len++;
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return n->fd < 0 ? -errno : 0;
}

/* As sd_watchdog_enabled(3) reads it: three signs of life in that time, if they are wanted of this process. */
static __u64 watchdog_period(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtoll(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * 1000 / 3;
}

static int send_text(const struct notify *n, const char *text)
{
	if (sendto(n->fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&n->address,
		   n->address_len) < 0)
		return -errno;
	return 0;
}

struct notify *notify__new(void)
{
	struct notify *n = calloc(1, sizeof(*n));
	const char *name = getenv("NOTIFY_SOCKET");
	int err;

	if (!n)
		return NULL;
	n->fd = -1;
	if (!name)
		return n;
	err = find_socket(n, name);
	if (!err)
		err = send_text(n, "STATUS=starting");
	if (err)
		log_warn(NULL,
			 "krait cannot tell systemd that it is ready: NOTIFY_SOCKET is %s: %s",
			 name, strerror(-err));
	n->watchdog_ns = watchdog_period();
	return n;
}

void notify__free(struct notify *n)
{
	if (n && n->fd >= 0)
		close(n->fd);
	free(n);
}

void notify__say(struct notify *n, const char *text)
{
	if (n->fd >= 0)
		(void)send_text(n, text);
}

/* The first step comes before the first sample. */
static void step(void *ctx, __u64 now_ns)
{
	struct notify *n = ctx;

	if (n->steps < 2 && ++n->steps == 2)
		notify__say(n, "READY=1");
	if (!n->watchdog_ns || now_ns < n->next_ns)
		return;
	n->next_ns = now_ns + n->watchdog_ns;
	notify__say(n, "WATCHDOG=1");
}

static void on_window(void *ctx, const struct window *w)
{
	struct notify *n = ctx;
	char text[128];

	snprintf(text, sizeof(text), "STATUS=window %" PRIu64 ": %u samples, %" PRIu64 " Hz",
		 (uint64_t)w->number, w->samples.cnt, (uint64_t)w->price.frequency);
	notify__say(n, text);
}

struct agent_sink notify__sink(struct notify *n)
{
	return (struct agent_sink){ .name = "notify", .step = step, .window = on_window, .ctx = n };
}
