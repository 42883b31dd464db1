/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/serve/connections.h"

#include <stddef.h>
#include <sys/socket.h>

#include "base/system/clock.h"

#define NEVER (~0ULL)

void connections_init(struct connections *c)
{
	c->cnt = 0;
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
		c->list[i] = (struct connection){ .fd = -1, .due_ns = NEVER };
}

/* libmicrohttpd closes the descriptor. */
static void end(struct connection *c)
{
	c->due_ns = NEVER;
	c->asking = 0;
	shutdown(c->fd, SHUT_RDWR);
}

static void end_oldest(struct connections *c)
{
	struct connection *oldest = NULL;

	for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
		if (c->list[i].asking && (!oldest || c->list[i].due_ns < oldest->due_ns))
			oldest = &c->list[i];
	if (oldest)
		end(oldest);
}

struct connection *connections_add(struct connections *c, int fd, __u64 now_ns)
{
	unsigned i = 0;

	if (c->cnt >= CONNECTIONS_CROWDED)
		end_oldest(c);
	while (i < CONNECTIONS_MAX && c->list[i].fd >= 0)
		i++;
	if (i == CONNECTIONS_MAX)
		return NULL;
	c->cnt++;
	c->list[i].fd = fd;
	connection_asks(&c->list[i], now_ns);
	return &c->list[i];
}

void connections_remove(struct connections *c, struct connection *connection)
{
	*connection = (struct connection){ .fd = -1, .due_ns = NEVER };
	c->cnt--;
}

void connection_asks(struct connection *c, __u64 now_ns)
{
	c->asking = 1;
	c->due_ns = now_ns + CONNECTION_REQUEST_SECONDS * NS_PER_SEC;
}

void connection_answers(struct connection *c, __u64 now_ns)
{
	c->asking = 0;
	c->due_ns = now_ns + CONNECTION_ANSWER_SECONDS * NS_PER_SEC;
}

void connection_waits(struct connection *c)
{
	c->asking = 0;
	c->due_ns = NEVER;
}

void connections_end_late(struct connections *c, __u64 now_ns)
{
	for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
		if (c->list[i].due_ns <= now_ns)
			end(&c->list[i]);
}

__u64 connections_due_ns(const struct connections *c)
{
	__u64 due_ns = NEVER;

	for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
		if (c->list[i].due_ns < due_ns)
			due_ns = c->list[i].due_ns;
	return due_ns;
}
