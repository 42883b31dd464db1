/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/serve/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/serve/listen.h"
#include "agent/serve/serve_protocol.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/files/memory_file.h"
#include "base/files/secret_file.h"
#include "base/worker/channel.h"
#include "base/worker/worker.h"

#define MODULE "serve"
#define READY_NS (20 * NS_PER_SEC)
#define RESTART_EVERY_NS (2 * NS_PER_SEC)

/* A text route's content, kept for a restarted worker. */
struct published {
	struct serve_order_message order;
	int fd; /* -1: nothing yet */
};

struct server {
	struct serve_setup setup;
	int listeners[SERVER_LISTENERS_MAX];
	struct published texts[SERVER_ROUTES_MAX];
	struct worker *worker;
	bool is_ready;
	__s32 ready_err;
	__u64 started_ns;
	__u32 generation; /* of the worker: the high half of ids */
	struct server_request asked[SERVER_WAITING_MAX]; /* not returned to the caller yet */
	unsigned asked_cnt;
};

/* ---- the worker -------------------------------------------------------------------------------- */

static int start_worker(struct server *s, struct error *err)
{
	struct serve_order_message m = { .order = SERVE_SETUP, .setup = s->setup };
	int r;

	s->started_ns = clock_monotonic_ns();
	s->generation++;
	s->is_ready = false;
	s->ready_err = 0;
	s->worker = worker__start("server", err);
	if (!s->worker)
		return -EAGAIN;
	r = channel_send(worker__fd(s->worker), &m, sizeof(m), s->listeners, s->setup.listener_cnt);
	explicit_bzero(&m, sizeof(m));
	return r ? error_set(err, -r, EXIT_CODE_KERNEL, "cannot set up the server: %s",
			     strerror(-r)) :
		   0;
}

static void lose_worker(struct server *s)
{
	worker__abandon(s->worker);
	s->worker = NULL;
	s->is_ready = false;
	s->asked_cnt = 0;
}

static int send_text(struct server *s, unsigned route)
{
	const struct published *t = &s->texts[route];

	if (!s->is_ready || t->fd < 0)
		return 0;
	return channel_send(worker__fd(s->worker), &t->order, sizeof(t->order), &t->fd, 1);
}

static void take_word(struct server *s, const struct serve_word_message *m)
{
	struct server_request *r;

	if (m->word == SERVE_READY) {
		s->is_ready = !m->err;
		s->ready_err = m->err;
		for (unsigned i = 0; i < s->setup.route_cnt; i++)
			if (send_text(s, i))
				log_debug(MODULE, "a page is late");
	} else if (m->word == SERVE_ASK && m->route < s->setup.route_cnt &&
		   s->asked_cnt < SERVER_WAITING_MAX) {
		r = &s->asked[s->asked_cnt++];
		r->id = (__u64)s->generation << 32 | (__u32)m->id;
		memcpy(r->path, s->setup.routes[m->route].path, sizeof(r->path));
		memcpy(r->query, m->query, sizeof(r->query));
		r->query[sizeof(r->query) - 1] = '\0';
	}
}

static void listen_to(struct server *s, int timeout_ms)
{
	struct serve_word_message m;

	while (s->worker && s->asked_cnt < SERVER_WAITING_MAX) {
		int err = channel_take(worker__fd(s->worker), &m, sizeof(m), NULL, timeout_ms);

		if (err == -ETIMEDOUT)
			return;
		if (err)
			lose_worker(s);
		else
			take_word(s, &m);
		timeout_ms = 0;
	}
}

static void restart(struct server *s)
{
	struct error err;

	if (s->worker || clock_monotonic_ns() - s->started_ns < RESTART_EVERY_NS)
		return;
	if (start_worker(s, &err)) {
		log_warn(MODULE, "%s", err.text);
		lose_worker(s);
	} else {
		log_warn(MODULE, "the server has ended, and krait restarts it");
	}
}

static int wait_until_ready(struct server *s, struct error *err)
{
	__u64 end_ns = clock_monotonic_ns() + READY_NS;

	while (s->worker && !s->is_ready && !s->ready_err && clock_monotonic_ns() < end_ns)
		listen_to(s, 100);
	if (s->is_ready)
		return 0;
	if (s->ready_err == -ENOSYS)
		return error_set(err, ENOSYS, EXIT_CODE_KERNEL,
				 "cannot answer over HTTP without libmicrohttpd.so.12 (Debian: "
				 "libmicrohttpd12)");
	return error_set(err, s->ready_err ? -s->ready_err : EIO, EXIT_CODE_KERNEL,
			 "the server does not start: %s",
			 s->ready_err ? strerror(-s->ready_err) :
			 s->worker    ? "it does not answer" :
					"it has ended");
}

/* ---- life -------------------------------------------------------------------------------------- */

static int take_config(struct server *s, const struct server_config *config, struct error *err)
{
	cleanup_free char *token = NULL;

	if (config->route_cnt > SERVER_ROUTES_MAX || config->listen_cnt > SERVER_LISTENERS_MAX)
		return error_set(err, EINVAL, EXIT_CODE_USAGE,
				 "krait listens on %u addresses at most", SERVER_LISTENERS_MAX);
	for (unsigned i = 0; i < config->route_cnt; i++) {
		struct serve_route *r = &s->setup.routes[i];

		snprintf(r->path, sizeof(r->path), "%s", config->routes[i].path);
		r->ask = config->routes[i].ask;
		r->token = config->routes[i].token;
		r->post = config->routes[i].post;
		r->timeout_ms = config->routes[i].timeout_ms;
		s->setup.route_cnt++;
	}
	if (config->token_file) {
		int r = secret_file_token(&token, config->token_file, err);

		if (r)
			return r;
		if (strlen(token) >= sizeof(s->setup.token))
			return error_set(err, EINVAL, EXIT_CODE_USAGE,
					 "the token in %s is too long", config->token_file);
		snprintf(s->setup.token, sizeof(s->setup.token), "%s", token);
		explicit_bzero(token, strlen(token));
	}
	for (unsigned i = 0; i < config->listen_cnt; i++) {
		s->listeners[i] = listen_open(config->listen[i], &s->setup.in_files[i], err);
		if (s->listeners[i] < 0)
			return s->listeners[i];
		s->setup.listener_cnt++;
	}
	return 0;
}

void server__stop(struct server *s)
{
	if (!s)
		return;
	worker__abandon(s->worker);
	for (unsigned i = 0; i < SERVER_LISTENERS_MAX; i++)
		listen_close(s->listeners[i]);
	for (unsigned i = 0; i < SERVER_ROUTES_MAX; i++)
		if (s->texts[i].fd >= 0)
			close(s->texts[i].fd);
	explicit_bzero(s->setup.token, sizeof(s->setup.token));
	free(s);
}

struct server *server__start(const struct server_config *config, struct error *err)
{
	struct server *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		return NULL;
	}
	for (unsigned i = 0; i < SERVER_LISTENERS_MAX; i++)
		s->listeners[i] = -1;
	for (unsigned i = 0; i < SERVER_ROUTES_MAX; i++)
		s->texts[i].fd = -1;
	r = take_config(s, config, err);
	if (!r)
		r = start_worker(s, err);
	if (!r)
		r = wait_until_ready(s, err);
	if (!r)
		return s;
	server__stop(s);
	return NULL;
}

/* ---- what it says ------------------------------------------------------------------------------ */

static int make_body(const void *body, size_t len)
{
	return len > SERVER_BODY_MAX ? -EMSGSIZE : memory_file("krait-page", body, len);
}

int server__publish(struct server *s, const char *path, unsigned status, const char *content_type,
		    const void *body, size_t len)
{
	unsigned route = 0;
	struct published *t;
	int fd;

	while (route < s->setup.route_cnt &&
	       (s->setup.routes[route].ask || strcmp(s->setup.routes[route].path, path) != 0))
		route++;
	if (route == s->setup.route_cnt)
		return -ENOENT;
	fd = make_body(body, len);
	if (fd < 0)
		return fd;
	t = &s->texts[route];
	if (t->fd >= 0)
		close(t->fd);
	*t = (struct published){
		.order = { .order = SERVE_TEXT, .route = route, .status = status, .len = len },
		.fd = fd
	};
	snprintf(t->order.type, sizeof(t->order.type), "%s", content_type);
	return send_text(s, route);
}

int server__next(struct server *s, struct server_request *ret)
{
	listen_to(s, 0);
	restart(s);
	if (!s->asked_cnt)
		return 0;
	*ret = s->asked[0];
	memmove(&s->asked[0], &s->asked[1], --s->asked_cnt * sizeof(s->asked[0]));
	return 1;
}

int server__answer(struct server *s, __u64 id, unsigned status, const char *content_type,
		   const void *body, size_t len)
{
	struct serve_order_message m = {
		.order = SERVE_ANSWER, .id = (__u32)id, .status = status, .len = len
	};
	cleanup_close int fd = -1;

	if (!s->is_ready || id >> 32 != s->generation)
		return 0; /* the client is gone together with its worker */
	fd = make_body(body, len);
	if (fd < 0)
		return fd;
	snprintf(m.type, sizeof(m.type), "%s", content_type);
	return channel_send(worker__fd(s->worker), &m, sizeof(m), &fd, 1);
}

pid_t server__pid(const struct server *s)
{
	return s->worker ? worker__pid(s->worker) : 0;
}

unsigned server__port(const struct server *s, unsigned listener)
{
	return listener < s->setup.listener_cnt ? listen_port(s->listeners[listener]) : 0;
}
