/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * broker.c - krait broker: starts recordings for ordinary users, of their own processes.
 *
 * One loop and one thread. It waits for connections, says hello, takes one request of each, starts a recorder
 * (recorder.h) and tells the client what becomes of it. It opens no file of a client's and reads nothing that
 * a client wrote but one request of fixed size.
 *
 * Must hold: nothing that a client does or leaves undone lets another one wait: no descriptor blocks, each
 * state of a connection has a time limit, and each user a number of connections and recordings.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/broker/peer.h"
#include "cmd/broker/protocol.h"
#include "cmd/broker/recorder.h"
#include "cmd/common/arguments.h"
#include "cmd/common/commands.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/worker/channel.h"
#include "base/worker/rights.h"

/* Connections: in all, and of one user. */
#define CLIENTS_MAX 64
#define CLIENTS_OF_USER 8
/* Recordings at the same time: of one user, and what all of them may interrupt each CPU with. */
#define RECORDINGS_OF_USER 2
#define RATES_MAX 4000
/* For the request; to end after a signal, or after the time is over; to read the result; to remove it. */
#define REQUEST_NS (5 * NS_PER_SEC)
#define ENDING_NS (20 * NS_PER_SEC)
#define READING_NS (600 * NS_PER_SEC)
#define CLEANING_NS (10 * NS_PER_SEC)
/* Without clients, if systemd will start it again. */
#define IDLE_NS (60 * NS_PER_SEC)
/* systemd's first descriptor: SD_LISTEN_FDS_START, sd-daemon.h. */
#define LISTEN_FD 3

enum client_state { CLIENT_NONE, CLIENT_GREETED, CLIENT_RECORDS, CLIENT_READS, CLIENT_CLEANS };

struct client {
	enum client_state state;
	int fd; /* -1: gone */
	struct peer peer;
	__u64 nonce, limit_ns, began_ns;
	struct broker_request request;
	struct recorder recorder;
	bool told, killed; /* that it began; that it was told to end */
};

struct broker {
	const char *path; /* of the socket */
	int fd, signal_fd;
	bool activated; /* by systemd, which has the socket */
	bool ending; /* takes no more connections */
	__u64 idle_ns; /* since when there is no client */
	__u64 refused_ns; /* when that was last said of somebody */
	unsigned unsaid; /* how often it was not, since then */
	struct client clients[CLIENTS_MAX];
};

static const struct client no_client = { .fd = -1,
					 .peer = { .pidfd = -1 },
					 .recorder = { .pidfd = -1, .began_fd = -1 } };

/* ---- options ---------------------------------------------------------------------------------- */

static const struct argp_option option_table[] = {
	{ "socket", 's', "PATH", 0,
	  "where to listen (default " BROKER_SOCKET "); not used if systemd passes a socket", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct broker *b = state->input;

	if (key != 's')
		return ARGP_ERR_UNKNOWN;
	if (*arg != '/' || strlen(arg) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		arguments_refuse(state, "--socket takes an absolute path of at most 107 letters");
	b->path = arg;
	return 0;
}

static const struct argp parser = {
	option_table,
	parse_option,
	NULL,
	"Record for ordinary users, without sudo: each its own processes, and no others."
	"\v"
	"Started once, as root, or by systemd when somebody connects. From then on \"krait record\" works for\n"
	"everybody: -p PID of one's own processes, and commands. docs/SERVICE.md says what users can see, and what\n"
	"the service allows.\n"
	"\n"
	"Examples:\n"
	"  systemctl enable --now krait-broker.socket    with systemd\n"
	"  krait broker                                  without\n",
	NULL,
	NULL,
	NULL
};

/* ---- answers ---------------------------------------------------------------------------------- */

static int answer(const struct client *c, enum broker_kind kind, int code, const char *text)
{
	struct broker_answer a = { .version = BROKER_VERSION,
				   .kind = kind,
				   .nonce = kind == BROKER_HELLO ? c->nonce : 0,
				   .code = code };

	snprintf(a.text, sizeof(a.text), "%s", text);
	return channel_send(c->fd, &a, sizeof(a), NULL, 0);
}

static void forget(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	peer_free(&c->peer);
	recorder_free(&c->recorder);
	*c = no_client;
}

/* One line a second: a flood of connections must not become one of lines. */
static void say_refused(struct broker *b, const struct client *c, const char *why)
{
	__u64 now_ns = clock_monotonic_ns();
	char more[48] = "";

	if (b->refused_ns && now_ns - b->refused_ns < NS_PER_SEC) {
		b->unsaid++;
		return;
	}
	if (b->unsaid)
		snprintf(more, sizeof(more), " (and %u others before)", b->unsaid);
	b->unsaid = 0;
	b->refused_ns = now_ns;
	log_info(NULL, "user %u, process %d: refused: %s%s", c->peer.uid, (int)c->peer.pid, why,
		 more);
}

static void refuse(struct broker *b, struct client *c, int code, const char *why)
{
	say_refused(b, c, why);
	if (answer(c, BROKER_REFUSED, code, why))
		log_debug("broker", "it does not listen");
	forget(c);
}

/* ---- connections ------------------------------------------------------------------------------ */

static unsigned connections_of(const struct broker *b, uid_t uid)
{
	unsigned cnt = 0;

	for (int i = 0; i < CLIENTS_MAX; i++)
		cnt += b->clients[i].state != CLIENT_NONE && b->clients[i].peer.uid == uid;
	return cnt;
}

static struct client *free_place(struct broker *b)
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		if (b->clients[i].state == CLIENT_NONE)
			return &b->clients[i];
	}
	return NULL;
}

/* Who has connected but will not be served: is told so, and takes no place. */
static void greet(struct broker *b, struct client *c)
{
	const int on = 1;
	const char *why = peer_take(&c->peer, c->fd);

	if (!why)
		why = peer_check(&c->peer);
	if (!why && connections_of(b, c->peer.uid) >= CLIENTS_OF_USER)
		why = "you have too many connections to the service";
	if (why) {
		refuse(b, c, EXIT_CODE_PERMISSION, why);
		return;
	}
	if (getrandom(&c->nonce, sizeof(c->nonce), 0) != sizeof(c->nonce) ||
	    setsockopt(c->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    answer(c, BROKER_HELLO, 0, "")) {
		forget(c);
		return;
	}
	c->state = CLIENT_GREETED;
	c->limit_ns = clock_monotonic_ns() + REQUEST_NS;
}

/* Without a place the connection waits in the kernel's queue. */
static void accept_one(struct broker *b)
{
	struct client *c = free_place(b);

	c->fd = accept4(b->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (c->fd >= 0)
		greet(b, c);
}

/* ---- requests --------------------------------------------------------------------------------- */

/*
 * One message of the right size, from the process that has connected: the kernel puts the sender's pid there. Returns NULL,
 * or why not.
 */
static const char *take_request(struct client *c)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control = { 0 };
	struct iovec part = { &c->request, sizeof(c->request) };
	struct msghdr msg = { .msg_iov = &part,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	const struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	struct ucred ids;

	/* There is no room for descriptors: the kernel drops them, and says that it has cut something. */
	if (!n)
		return "it left without a request";
	if (n != sizeof(c->request) || msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
	    c->request.version != BROKER_VERSION)
		return "this krait and the service differ in version";
	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_CREDENTIALS ||
	    head->cmsg_len != CMSG_LEN(sizeof(ids)))
		return "the kernel does not say who has sent the request";
	memcpy(&ids, CMSG_DATA(head), sizeof(ids));
	if (ids.pid != c->peer.pid || ids.uid != c->peer.uid || ids.gid != c->peer.gid ||
	    c->request.nonce != c->nonce)
		return "the request comes from another process than the connection";
	return NULL;
}

/* Whether it asks for what the service gives. */
static const char *check_request(struct broker_request *r)
{
	if (!r->duration_ms)
		r->duration_ms = 1000ULL * BROKER_SECONDS_MAX;
	if (!r->rate || r->rate > BROKER_RATE_MAX)
		return "the service takes at most 1000 samples a second";
	if (r->duration_ms > 1000ULL * BROKER_SECONDS_MAX)
		return "the service records for an hour at most";
	if (!r->pid_cnt || r->pid_cnt > BROKER_PIDS_MAX)
		return "the service takes at most 64 processes";
	if (r->flags & ~(__u32)BROKER_FLAGS)
		return "this krait and the service differ in version";
	for (__u32 i = 0; i < r->pid_cnt; i++) {
		if (r->pids[i] < 1 || r->pids[i] > ARGUMENTS_PID_MAX)
			return "there are no such processes";
	}
	return NULL;
}

/* Tracing must not be forbidden to ordinary users. */
static const char *check_kernel(void)
{
	cleanup_fclose FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (!f && errno == ENOENT)
		return NULL;
	if (f && fscanf(f, "%d", &scope) == 1 && !scope)
		return NULL;
	return "kernel.yama.ptrace_scope is not 0: nobody may look at processes that are not its children";
}

static const char *check_quotas(const struct broker *b, const struct client *asks)
{
	unsigned own = 0, rates = asks->request.rate;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &b->clients[i];

		if (c->state != CLIENT_RECORDS)
			continue;
		own += c->peer.uid == asks->peer.uid;
		rates += c->request.rate;
	}
	if (own >= RECORDINGS_OF_USER)
		return "two recordings of yours run already";
	return rates > RATES_MAX ?
		       "other users record, at rates that leave none for this one (-F)" :
		       NULL;
}

static void start(struct broker *b, struct client *c)
{
	const char *why = take_request(c);
	int err;

	if (!why)
		why = check_request(&c->request);
	/* Again, now that it is known to be the one that has sent the request. */
	if (!why)
		why = peer_check(&c->peer);
	if (!why)
		why = check_kernel();
	if (!why)
		why = check_quotas(b, c);
	if (why) {
		refuse(b, c, EXIT_CODE_PERMISSION, why);
		return;
	}
	err = recorder_start(&c->recorder, &c->peer, &c->request, c->fd);
	if (err) {
		refuse(b, c, EXIT_CODE_KERNEL, strerror(-err));
		return;
	}
	c->state = CLIENT_RECORDS;
	c->began_ns = clock_monotonic_ns();
	c->limit_ns = c->began_ns + c->request.duration_ms * (NS_PER_SEC / 1000) + ENDING_NS;
}

/* ---- recordings ------------------------------------------------------------------------------- */

static void end_recording(struct client *c)
{
	__u64 limit_ns = clock_monotonic_ns() + ENDING_NS;

	if (c->killed)
		return;
	c->killed = true;
	recorder_signal(&c->recorder, SIGINT);
	c->limit_ns = limit_ns < c->limit_ns ? limit_ns : c->limit_ns;
}

static void clean(struct client *c)
{
	close(c->fd);
	c->fd = -1;
	if (recorder_clean(&c->recorder, &c->peer)) {
		forget(c);
		return;
	}
	c->state = CLIENT_CLEANS;
	c->limit_ns = clock_monotonic_ns() + CLEANING_NS;
}

static void say_recorded(const struct client *c, int code)
{
	log_info(
		NULL,
		"user %u, process %d: recorded %u process%s, the first %d, at %u Hz for %.1f s: exit code %d",
		c->peer.uid, (int)c->peer.pid, c->request.pid_cnt,
		c->request.pid_cnt == 1 ? "" : "es", c->request.pids[0], c->request.rate,
		(double)(clock_monotonic_ns() - c->began_ns) / NS_PER_SEC, code);
}

static void look_at_recorder(const struct broker *b, struct client *c)
{
	char byte;
	int code;

	if (c->state == CLIENT_RECORDS && !c->told && c->recorder.began_fd >= 0) {
		ssize_t n = read(c->recorder.began_fd, &byte, 1);

		c->told = n == 1 && !answer(c, BROKER_BEGAN, 0, "");
		close(c->recorder.began_fd);
		c->recorder.began_fd = -1;
	}
	if (!recorder_ended(&c->recorder, &code))
		return;
	if (c->state == CLIENT_CLEANS) {
		forget(c);
		return;
	}
	say_recorded(c, code);
	c->state = CLIENT_READS;
	c->limit_ns = clock_monotonic_ns() + (b->ending ? ENDING_NS : READING_NS);
	if (answer(c, BROKER_DONE, code, ""))
		clean(c);
}

/* The time for what it does is over. */
static void expire(struct broker *b, struct client *c)
{
	switch (c->state) {
	case CLIENT_GREETED:
		refuse(b, c, EXIT_CODE_PERMISSION, "no request came");
		break;
	case CLIENT_RECORDS:
	case CLIENT_CLEANS:
		recorder_signal(&c->recorder, SIGKILL);
		c->limit_ns = ~0ULL;
		break;
	case CLIENT_READS:
		clean(c);
		break;
	case CLIENT_NONE:
		break;
	}
}

/* ---- the loop --------------------------------------------------------------------------------- */

/* What a client has to say after its request is that it wants no more, whatever it says. */
static void on_client(struct broker *b, struct client *c, short events)
{
	if (!events)
		return;
	if (c->state == CLIENT_GREETED && events & POLLIN)
		start(b, c);
	else if (c->state == CLIENT_GREETED)
		forget(c);
	else if (c->state == CLIENT_RECORDS)
		end_recording(c);
	else if (c->state == CLIENT_READS)
		clean(c);
}

enum { POLL_LISTEN, POLL_SIGNAL, POLL_CLIENTS, POLL_EACH = 3 };

/* Per client: its connection, its recorder, and what that says. Returns when the next limit is reached. */
static __u64 fill(struct broker *b, struct pollfd *fds)
{
	__u64 until_ns = ~0ULL;

	fds[POLL_LISTEN] =
		(struct pollfd){ .fd = !b->ending && free_place(b) ? b->fd : -1, .events = POLLIN };
	fds[POLL_SIGNAL] = (struct pollfd){ .fd = b->signal_fd, .events = POLLIN };
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &b->clients[i];
		struct pollfd *f = fds + POLL_CLIENTS + POLL_EACH * i;
		bool records = c->state == CLIENT_RECORDS;

		/*
		 * Once it is told to end, nothing more of the client's matters; who has shut down only its own
		 * side still reads.
		 */
		f[0] = (struct pollfd){ .fd = records && c->killed ? -1 : c->fd,
					.events = c->state == CLIENT_READS ? 0 :
									     POLLIN | POLLRDHUP };
		f[1] = (struct pollfd){ .fd = c->recorder.pidfd, .events = POLLIN };
		f[2] = (struct pollfd){ .fd = c->recorder.began_fd, .events = POLLIN };
		if (c->state != CLIENT_NONE && c->limit_ns < until_ns)
			until_ns = c->limit_ns;
	}
	return until_ns;
}

static bool is_idle(struct broker *b, __u64 now_ns)
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		if (b->clients[i].state != CLIENT_NONE) {
			b->idle_ns = 0;
			return false;
		}
	}
	if (!b->idle_ns)
		b->idle_ns = now_ns;
	return b->ending || (b->activated && now_ns - b->idle_ns >= IDLE_NS);
}

/* Recordings end as by Ctrl-C, and clients get what there is. A second signal does not wait for that. */
static bool begin_end(struct broker *b)
{
	__u64 limit_ns = clock_monotonic_ns() + ENDING_NS;
	struct signalfd_siginfo info;

	if (b->ending || read(b->signal_fd, &info, sizeof(info)) != sizeof(info))
		return false;
	b->ending = true;
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &b->clients[i];

		if (c->state == CLIENT_GREETED)
			forget(c);
		if (c->state == CLIENT_RECORDS)
			end_recording(c);
		if (c->limit_ns > limit_ns)
			c->limit_ns = limit_ns;
	}
	return true;
}

static int wait_ms(__u64 now_ns, __u64 until_ns)
{
	if (until_ns <= now_ns)
		return 0;
	return until_ns - now_ns > 3600 * NS_PER_SEC ?
		       3600 * 1000 :
		       (int)((until_ns - now_ns) / (NS_PER_SEC / 1000)) + 1;
}

static void serve(struct broker *b)
{
	struct pollfd fds[POLL_CLIENTS + POLL_EACH * CLIENTS_MAX];

	for (;;) {
		__u64 now_ns = clock_monotonic_ns(), until_ns = fill(b, fds);

		if (is_idle(b, now_ns))
			return;
		if (b->activated && b->idle_ns)
			until_ns = b->idle_ns + IDLE_NS;
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), wait_ms(now_ns, until_ns)) < 0 &&
		    errno != EINTR)
			return;
		if (fds[POLL_SIGNAL].revents && !begin_end(b))
			return;
		now_ns = clock_monotonic_ns();
		for (int i = 0; i < CLIENTS_MAX; i++) {
			struct client *c = &b->clients[i];
			const struct pollfd *f = fds + POLL_CLIENTS + POLL_EACH * i;

			if (c->state == CLIENT_NONE)
				continue;
			/* First: what the recorder says changes what the client's events mean. */
			on_client(b, c, f[0].revents);
			if (f[1].revents || f[2].revents)
				look_at_recorder(b, c);
			if (c->state != CLIENT_NONE && now_ns >= c->limit_ns)
				expire(b, c);
		}
		if (fds[POLL_LISTEN].revents)
			accept_one(b);
	}
}

/* ---- begin and end ---------------------------------------------------------------------------- */

/* The socket that systemd passes: sd_listen_fds(3). */
static bool take_passed(struct broker *b)
{
	const char *pid = getenv("LISTEN_PID"), *cnt = getenv("LISTEN_FDS");
	int type = 0;
	socklen_t len = sizeof(type);

	if (!pid || !cnt || atoi(pid) != getpid() || atoi(cnt) != 1)
		return false;
	if (getsockopt(LISTEN_FD, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_SEQPACKET)
		return false;
	b->fd = fcntl(LISTEN_FD, F_DUPFD_CLOEXEC, LISTEN_FD + 1);
	close(LISTEN_FD);
	/* Whoever has left before it is accepted must not make the broker wait for the next one. */
	b->activated = b->fd >= 0 && !fcntl(b->fd, F_SETFL, O_NONBLOCK);
	return b->activated;
}

/* Another broker that answers there keeps its socket; one that was killed has left it. */
static int remove_old(const struct sockaddr_un *addr, struct error *err)
{
	cleanup_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd >= 0 && !connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return error_set(err, EADDRINUSE, EXIT_CODE_OUTPUT,
				 "%s: another krait broker serves it", addr->sun_path);
	if (!lstat(addr->sun_path, &st) && S_ISSOCK(st.st_mode))
		unlink(addr->sun_path);
	return 0;
}

static int listen_at(struct broker *b, struct error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char folder[sizeof(addr.sun_path)];

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", b->path);
	snprintf(folder, sizeof(folder), "%s", b->path);
	*strrchr(folder, '/') = '\0';
	if (*folder && mkdir(folder, 0755) && errno != EEXIST)
		return error_set(err, errno, EXIT_CODE_OUTPUT, "%s: %s", folder, strerror(errno));
	if (remove_old(&addr, err))
		return -1;
	b->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (b->fd < 0 || bind(b->fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    chmod(b->path, 0666) || listen(b->fd, CLIENTS_MAX))
		return error_set(err, errno, EXIT_CODE_OUTPUT, "%s: %s", b->path, strerror(errno));
	return 0;
}

static int prepare(struct broker *b, struct error *err)
{
	sigset_t mask;

	if (geteuid())
		return error_set(err, EPERM, EXIT_CODE_PERMISSION, "krait broker needs root%s",
				 error_sudo());
	if (!peer_namespaces_are_first())
		return error_set(
			err, EPERM, EXIT_CODE_PERMISSION,
			"krait broker serves the processes of the first user and pid namespaces, and runs "
			"there (not in a container)");
	if (!take_passed(b) && listen_at(b, err))
		return -1;
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	b->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (b->signal_fd < 0)
		return error_set(err, errno, EXIT_CODE_KERNEL, "signalfd: %s", strerror(errno));
	if (rights_keep(recorder_capabilities()))
		return error_set(err, EPERM, EXIT_CODE_KERNEL,
				 "cannot give up the rights that krait does not need");
	return 0;
}

int cmd_broker(int argc, char **argv)
{
	cleanup_free struct broker *b = calloc(1, sizeof(*b));
	struct error err;

	if (!b)
		return EXIT_CODE_KERNEL;
	b->path = BROKER_SOCKET;
	b->fd = b->signal_fd = -1;
	for (int i = 0; i < CLIENTS_MAX; i++)
		b->clients[i] = no_client;
	if (arguments_parse(&parser, argc, argv, 0, b))
		return EXIT_CODE_USAGE;
	if (prepare(b, &err)) {
		log_error(NULL, "%s", err.text);
		return err.code;
	}
	serve(b);
	/* Recorders that are left end with the broker; a client keeps what was saved. */
	if (!b->activated)
		unlink(b->path);
	return EXIT_CODE_OK;
}
