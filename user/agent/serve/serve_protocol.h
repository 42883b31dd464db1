/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serve_protocol.h - the messages between krait and the server over their channel
 * (base/worker/channel.h).
 */
#ifndef KRAIT_AGENT_SERVE_SERVE_PROTOCOL_H
#define KRAIT_AGENT_SERVE_SERVE_PROTOCOL_H

#include "agent/serve/server.h"

#define SERVE_TOKEN_MAX 1024U
#define SERVE_TYPE_MAX 64U

struct serve_route {
	char path[SERVER_PATH_MAX];
	__u32 timeout_ms;
	bool ask, token, post;
};

struct serve_setup {
	struct serve_route routes[SERVER_ROUTES_MAX];
	unsigned route_cnt, listener_cnt;
	/* the listener is a socket in the file system: no token needed */
	bool in_files[SERVER_LISTENERS_MAX];
	char token[SERVE_TOKEN_MAX]; /* "": none */
};

enum serve_order {
	SERVE_SETUP, /* with the listeners' descriptors */
	SERVE_TEXT, /* for a route; with a memfd */
	SERVE_ANSWER, /* to question id; with a memfd */
};

struct serve_order_message {
	__u32 order;
	__u32 route;
	__u64 id;
	__u32 status;
	__u64 len;
	char type[SERVE_TYPE_MAX];
	struct serve_setup setup;
};

enum serve_word {
	SERVE_READY, /* err: why not */
	SERVE_ASK, /* route and query */
};

struct serve_word_message {
	__u32 word;
	__s32 err;
	__u64 id;
	__u32 route;
	char query[SERVER_QUERY_MAX];
};

#endif /* KRAIT_AGENT_SERVE_SERVE_PROTOCOL_H */
