/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/serve/server_serve.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>

#include "agent/serve/callers.h"
#include "agent/serve/connections.h"
#include "agent/serve/httpd_library.h"
#include "agent/serve/listen.h"
#include "agent/serve/serve_protocol.h"
#include "agent/serve/server.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/worker/channel.h"
#include "base/worker/sandbox.h"

/* ---- response --------------------------------------------------------------------------------- */

/*
 * The server's answers, with the headers common to all.
 *
 * Must hold: a body from another process is never longer than SERVER_BODY_MAX.
 */

struct httpd_library;

/* data: malloc'ed; the response takes it over. */
static struct MHD_Response *make_response(const struct httpd_library *h, void *data, size_t len,
					  const char *type)
{
	struct MHD_Response *r = h->create_response_from_buffer(len, data, MHD_RESPMEM_MUST_FREE);

	if (!r) {
		free(data);
		return NULL;
	}
	h->add_response_header(r, "Content-Type", type);
	/* A browser must respect the declared type, and store nothing. */
	h->add_response_header(r, "X-Content-Type-Options", "nosniff");
	h->add_response_header(r, "Cache-Control", "no-store");
	return r;
}

/* allow: the methods, for a request with another one; otherwise NULL. */
static enum MHD_Result send_text(const struct httpd_library *h, struct MHD_Connection *c,
				 unsigned status, const char *text, const char *allow)
{
	char *copy = strdup(text);
	struct MHD_Response *r =
		copy ? make_response(h, copy, strlen(copy), "text/plain; charset=utf-8") : NULL;
	enum MHD_Result result = MHD_NO;

	if (!r)
		return MHD_NO;
	if (status == MHD_HTTP_UNAUTHORIZED)
		h->add_response_header(r, "WWW-Authenticate", "Basic realm=\"krait\"");
	if (allow)
		h->add_response_header(r, "Allow", allow);
	result = h->queue_response(c, status, r);
	h->destroy_response(r);
	return result;
}

/* With a body of the server's own: plain text. */
static enum MHD_Result response_send(const struct httpd_library *h, struct MHD_Connection *c,
				     unsigned status, const char *text)
{
	return send_text(h, c, status, text, NULL);
}

/* For a method other than POST, or if !post, other than GET and HEAD. */
static enum MHD_Result response_refuse_method(const struct httpd_library *h,
					      struct MHD_Connection *c, bool post)
{
	return send_text(h, c, MHD_HTTP_METHOD_NOT_ALLOWED,
			 post ? "this changes what krait does: only POST is answered\n" :
				"only GET and HEAD are answered\n",
			 post ? "POST" : "GET, HEAD");
}

/* The first len bytes of a file. NULL: it is shorter, or out of memory. */
static struct MHD_Response *response_of_file(const struct httpd_library *h, int fd, size_t len,
					     const char *type)
{
	cleanup_free char *data = len <= SERVER_BODY_MAX ? malloc(len + 1) : NULL;
	size_t have = 0;

	while (data && have < len) {
		ssize_t n = pread(fd, data + have, len - have, (off_t)have);

		if (n <= 0)
			return NULL;
		have += (size_t)n;
	}
	return data ? make_response(h, take_ptr(&data), len, type) : NULL;
}

/* ---- server serve ----------------------------------------------------------------------------- */

/* Memory per connection; and the longest silence. */
#define CONNECTION_MEMORY 16384U
#define SILENCE_SECONDS 10U
#define ASK_TIMEOUT_MS 60000U
/* Whatever it costs, others come first. */
#define NICE 19
#define TEXT_NOT_FOUND "no such page\n"

struct serve_worker;

/* One request, from beginning to end. */
struct visit {
	bool begun; /* its headers have been seen */
	bool too_long;
	bool waiting; /* for krait's answer; suspended, unless the answer is there */
	struct MHD_Connection *connection;
	struct connection *place; /* NULL: there were too many */
	struct MHD_Response *response; /* the answer */
	unsigned status;
	__u64 id, end_ns;
	char query[SERVER_QUERY_MAX];
};

struct listener {
	struct serve_worker *worker;
	struct MHD_Daemon *daemon;
	int epoll;
	bool in_files;
	unsigned port; /* 0: in_files */
	struct connections connections;
};

struct text {
	struct MHD_Response *response;
	unsigned status;
	__u64 since_ns;
};

struct serve_worker {
	int channel;
	struct httpd_library httpd;
	struct serve_setup setup;
	struct listener listeners[SERVER_LISTENERS_MAX];
	struct text texts[SERVER_ROUTES_MAX];
	struct visit *waiting[SERVER_WAITING_MAX];
	__u64 next_id;
	struct callers callers; /* of all listeners in the network */
	unsigned caller; /* of the connection that was accepted last */
};

/* ---- who may ----------------------------------------------------------------------------------- */

/* In constant time, which does not reveal where they differ. */
static bool is_same(const char *given, const char *token)
{
	size_t len = strlen(token), given_len = strlen(given);
	volatile unsigned difference = given_len != len;

	for (size_t i = 0; i < len; i++)
		difference |= (unsigned)(token[i] ^ given[i < given_len ? i : given_len]);
	return !difference;
}

static bool has_token(const struct serve_worker *w, struct MHD_Connection *c)
{
	const char *header = w->httpd.lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
	char *user, *password = NULL;
	bool same = false;

	if (!*w->setup.token || !header)
		return false;
	if (!strncasecmp(header, "Bearer ", 7))
		return is_same(header + 7, w->setup.token);
	user = w->httpd.basic_auth_get_username_password(c, &password);
	if (password)
		same = is_same(password, w->setup.token);
	w->httpd.free(user);
	w->httpd.free(password);
	return same;
}

/* ---- questions --------------------------------------------------------------------------------- */

/* Suspends the request until krait has answered. */
static enum MHD_Result ask(struct serve_worker *w, struct visit *v, struct MHD_Connection *c,
			   unsigned route)
{
	struct serve_word_message m = { .word = SERVE_ASK, .id = ++w->next_id, .route = route };
	__u32 timeout_ms = w->setup.routes[route].timeout_ms;
	unsigned i = 0;

	while (i < SERVER_WAITING_MAX && w->waiting[i])
		i++;
	memcpy(m.query, v->query, sizeof(m.query));
	if (i == SERVER_WAITING_MAX || channel_send(w->channel, &m, sizeof(m), NULL, 0))
		return response_send(&w->httpd, c, MHD_HTTP_SERVICE_UNAVAILABLE,
				     "krait is busy: too many requests wait\n");
	v->id = m.id;
	v->waiting = true;
	v->connection = c;
	if (v->place)
		connection_waits(v->place);
	v->end_ns = clock_monotonic_ns() + (timeout_ms ? timeout_ms : ASK_TIMEOUT_MS) * NS_PER_MS;
	w->waiting[i] = v;
	w->httpd.suspend_connection(c);
	return MHD_YES;
}

static void forget_waiting(struct serve_worker *w, const struct visit *v)
{
	for (unsigned i = 0; i < SERVER_WAITING_MAX; i++)
		if (w->waiting[i] == v)
			w->waiting[i] = NULL;
}

/* The answer has come, or never will. */
static void wake(struct serve_worker *w, struct visit *v)
{
	forget_waiting(w, v);
	w->httpd.resume_connection(v->connection);
}

static void wake_late_ones(struct serve_worker *w, __u64 now_ns)
{
	for (unsigned i = 0; i < SERVER_WAITING_MAX; i++)
		if (w->waiting[i] && now_ns >= w->waiting[i]->end_ns)
			wake(w, w->waiting[i]);
}

/* ---- connections ------------------------------------------------------------------------------- */

/* A socket in the file system is its owner's, who needs no limit. */
static bool may_call(struct listener *l, unsigned caller)
{
	return l->in_files || callers_take(&l->worker->callers, caller);
}

static enum MHD_Result on_accept(void *ctx, const struct sockaddr *address, socklen_t len)
{
	struct listener *l = ctx;
	struct serve_worker *w = l->worker;

	w->caller = l->in_files ? 0 : callers_find(&w->callers, address, len, l->port);
	return may_call(l, w->caller) ? MHD_YES : MHD_NO;
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode what)
{
	struct listener *l = ctx;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*socket_ctx)
			connections_remove(&l->connections, *socket_ctx);
		*socket_ctx = NULL;
		return;
	}
	info = l->worker->httpd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		*socket_ctx =
			connections_add(&l->connections, info->connect_fd, clock_monotonic_ns());
	if (*socket_ctx)
		((struct connection *)*socket_ctx)->caller = l->worker->caller;
}

static struct connection *place_of(const struct httpd_library *h, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		h->get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* ---- requests ---------------------------------------------------------------------------------- */

/* The first callback for a request. */
static void *begin_visit(void *ctx, const char *uri, struct MHD_Connection *c)
{
	struct visit *v = calloc(1, sizeof(*v));
	const char *query = strchr(uri, '?');

	if (!v || !query)
		return v;
	query++;
	v->too_long = strlen(query) >= sizeof(v->query);
	for (size_t i = 0; query[i] && i < sizeof(v->query) - 1; i++)
		v->query[i] = query[i] > ' ' && query[i] <= '~' ? query[i] : '?';
	return v;
}

/* The last callback for a request. */
static void end_visit(void *ctx, struct MHD_Connection *c, void **req_ctx,
		      enum MHD_RequestTerminationCode why)
{
	struct listener *l = ctx;
	struct visit *v = *req_ctx;

	if (!v)
		return;
	forget_waiting(l->worker, v);
	if (v->place)
		connection_asks(v->place, clock_monotonic_ns());
	if (v->response)
		l->worker->httpd.destroy_response(v->response);
	free(v);
	*req_ctx = NULL;
}

static enum MHD_Result answer_text(struct serve_worker *w, struct MHD_Connection *c, unsigned route)
{
	const struct text *t = &w->texts[route];
	__u64 age_ns = clock_monotonic_ns() - t->since_ns;
	__u32 timeout_ms = w->setup.routes[route].timeout_ms;

	if (!t->response)
		return response_send(&w->httpd, c, MHD_HTTP_SERVICE_UNAVAILABLE, "not ready yet\n");
	if (timeout_ms && age_ns > timeout_ms * NS_PER_MS)
		return response_send(&w->httpd, c, MHD_HTTP_SERVICE_UNAVAILABLE,
				     "krait has said nothing for too long\n");
	return w->httpd.queue_response(c, t->status, t->response);
}

static enum MHD_Result answer_visit(struct serve_worker *w, struct visit *v,
				    struct MHD_Connection *c)
{
	if (!v->response)
		return response_send(&w->httpd, c, MHD_HTTP_GATEWAY_TIMEOUT,
				     "krait did not answer in time\n");
	return w->httpd.queue_response(c, v->status, v->response);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **req_ctx)
{
	struct listener *l = ctx;
	struct serve_worker *w = l->worker;
	struct visit *v = *req_ctx;
	const struct serve_route *r;
	unsigned at = 0;
	bool post;

	if (!v)
		return MHD_NO;
	if (!v->begun) {
		v->begun = true;
		v->place = place_of(&w->httpd, c);
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0; /* read and discard the body */
		return MHD_YES;
	}
	if (v->place)
		connection_answers(v->place, clock_monotonic_ns());
	if (v->waiting)
		return answer_visit(w, v, c);
	if (!may_call(l, v->place ? v->place->caller : 0))
		return MHD_NO; /* ends the connection */
	while (at < w->setup.route_cnt && strcmp(url, w->setup.routes[at].path) != 0)
		at++;
	r = at < w->setup.route_cnt ? &w->setup.routes[at] : NULL;
	post = r && r->post;
	if (post ? strcmp(method, "POST") != 0 :
		   strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return response_refuse_method(&w->httpd, c, post);
	if (v->too_long)
		return response_send(&w->httpd, c, MHD_HTTP_URI_TOO_LONG,
				     "the query is too long\n");
	if (!r)
		return response_send(&w->httpd, c, MHD_HTTP_NOT_FOUND, TEXT_NOT_FOUND);
	if (r->token && !l->in_files && !has_token(w, c))
		return response_send(&w->httpd, c, MHD_HTTP_UNAUTHORIZED,
				     "this page needs the token\n");
	return r->ask ? ask(w, v, c, at) : answer_text(w, c, at);
}

/* ---- orders ------------------------------------------------------------------------------------ */

static void take_text(struct serve_worker *w, const struct serve_order_message *m, int fd)
{
	struct text *t = &w->texts[m->route];
	struct MHD_Response *r = response_of_file(&w->httpd, fd, m->len, m->type);

	if (!r)
		return;
	if (t->response)
		w->httpd.destroy_response(t->response);
	*t = (struct text){ .response = r, .status = m->status, .since_ns = clock_monotonic_ns() };
}

static void take_answer(struct serve_worker *w, const struct serve_order_message *m, int fd)
{
	for (unsigned i = 0; i < SERVER_WAITING_MAX; i++) {
		struct visit *v = w->waiting[i];

		if (!v || v->id != m->id)
			continue;
		v->response = response_of_file(&w->httpd, fd, m->len, m->type);
		v->status = m->status;
		wake(w, v);
		return;
	}
}

/* Takes one order; -EAGAIN: there is none. */
static int take_order(struct serve_worker *w)
{
	struct serve_order_message m;
	cleanup_close int fd = -1;
	int err = channel_take(w->channel, &m, sizeof(m), &fd, 0);

	if (err)
		return err == -ETIMEDOUT ? -EAGAIN : err;
	m.type[sizeof(m.type) - 1] = '\0';
	if (fd >= 0 && m.order == SERVE_TEXT && m.route < w->setup.route_cnt)
		take_text(w, &m, fd);
	else if (fd >= 0 && m.order == SERVE_ANSWER)
		take_answer(w, &m, fd);
	return 0;
}

/* ---- life -------------------------------------------------------------------------------------- */

static int start_listener(struct serve_worker *w, unsigned i, int fd)
{
	struct listener *l = &w->listeners[i];
	const union MHD_DaemonInfo *info;

	l->worker = w;
	l->in_files = w->setup.in_files[i];
	l->port = listen_port(fd);
	connections_init(&l->connections);
	l->daemon = w->httpd.start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, on_accept, l, handle, l,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_SECONDS, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, l, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_URI_LOG_CALLBACK, begin_visit, l, MHD_OPTION_NOTIFY_COMPLETED, end_visit,
		l, MHD_OPTION_END);
	if (!l->daemon)
		return -EIO;
	info = w->httpd.get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	l->epoll = info ? info->epoll_fd : -1;
	return l->epoll < 0 ? -EIO : 0;
}

static int begin(struct serve_worker *w)
{
	static const struct sandbox_limits limits = {
		.memory = 1ULL << 30,
		.cpu_seconds = ~0U, /* it lives as long as krait */
		.fds = CONNECTIONS_MAX * SERVER_LISTENERS_MAX + 64,
	};
	struct serve_order_message m;
	int fds[SERVER_LISTENERS_MAX], err;
	unsigned fd_cnt = SERVER_LISTENERS_MAX;
	ssize_t n = channel_recv(w->channel, &m, sizeof(m), fds, &fd_cnt, -1);

	if (n != sizeof(m) || m.order != SERVE_SETUP || fd_cnt != m.setup.listener_cnt ||
	    m.setup.route_cnt > SERVER_ROUTES_MAX)
		return -EPROTO;
	w->setup = m.setup;
	explicit_bzero(&m, sizeof(m));
	err = httpd_library_load(&w->httpd);
	for (unsigned i = 0; i < fd_cnt && !err; i++)
		err = start_listener(w, i, fds[i]);
	return err ? err : sandbox_enter_server(sandbox_room(), &limits);
}

static __u64 ms_until(__u64 end_ns, __u64 now_ns)
{
	return end_ns <= now_ns ? 0 : (end_ns - now_ns) / NS_PER_MS + 1;
}

/* With too many calls, those from the network wait in their sockets; the kernel refuses more. */
static bool is_open(struct serve_worker *w, const struct listener *l)
{
	return l->in_files || callers_may_call(&w->callers);
}

static int pause_ms(struct serve_worker *w, __u64 now_ns)
{
	MHD_UNSIGNED_LONG_LONG least = 60000, ms;

	for (unsigned i = 0; i < w->setup.listener_cnt; i++) {
		if (!is_open(w, &w->listeners[i]))
			ms = callers_pause_ms(&w->callers);
		else if (w->httpd.get_timeout(w->listeners[i].daemon, &ms) != MHD_YES)
			continue;
		least = ms < least ? ms : least;
	}
	for (unsigned i = 0; i < w->setup.listener_cnt; i++) {
		ms = ms_until(connections_due_ns(&w->listeners[i].connections), now_ns);
		least = ms < least ? ms : least;
	}
	for (unsigned i = 0; i < SERVER_WAITING_MAX; i++) {
		ms = ms_until(w->waiting[i] ? w->waiting[i]->end_ns : ~0ULL, now_ns);
		least = ms < least ? ms : least;
	}
	return (int)least;
}

static int run(struct serve_worker *w)
{
	struct pollfd fds[SERVER_LISTENERS_MAX + 1] = { { .fd = w->channel, .events = POLLIN } };
	int err = 0;

	while (!err) {
		for (unsigned i = 0; i < w->setup.listener_cnt; i++) {
			struct listener *l = &w->listeners[i];

			fds[i + 1] = (struct pollfd){ .fd = is_open(w, l) ? l->epoll : -1,
						      .events = POLLIN };
		}
		if (poll(fds, w->setup.listener_cnt + 1, pause_ms(w, clock_monotonic_ns())) < 0 &&
		    errno != EINTR)
			return 1;
		for (unsigned i = 0; i < 16 && !err; i++)
			err = take_order(w);
		err = err == -EAGAIN ? 0 : err;
		wake_late_ones(w, clock_monotonic_ns());
		for (unsigned i = 0; i < w->setup.listener_cnt; i++) {
			connections_end_late(&w->listeners[i].connections, clock_monotonic_ns());
			if (is_open(w, &w->listeners[i]))
				w->httpd.run(w->listeners[i].daemon);
		}
	}
	return err != -EPIPE;
}

int server_serve(int channel_fd)
{
	struct serve_worker *w = calloc(1, sizeof(*w));
	struct serve_word_message m = { .word = SERVE_READY };

	if (!w)
		return 1;
	w->channel = channel_fd;
	callers_init(&w->callers);
	setpriority(PRIO_PROCESS, 0, NICE);
	m.err = begin(w);
	if (channel_send(channel_fd, &m, sizeof(m), NULL, 0) || m.err)
		return 1;
	/* The process's end cleans up the rest. */
	return run(w);
}
