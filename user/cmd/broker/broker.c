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
#include "cmd/broker/served.h"
#include "cmd/broker/settings.h"
#include "cmd/broker/spare.h"
#include "cmd/common/commands.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/system/privileges.h"
#include "base/text/log.h"
#include "base/text/metrics_text.h"
#include "base/worker/channel.h"
#include "base/worker/rights.h"

/* Connections: in all, and of one user. */
#define CLIENTS_MAX 64
#define CLIENTS_OF_USER 8
/* For the request; to end after a signal, or after the time is over; to read the result; to remove it. */
#define REQUEST_NS (5 * NS_PER_SEC)
#define STARTING_NS (2 * NS_PER_SEC)
#define ENDING_NS (20 * NS_PER_SEC)
#define READING_NS (600 * NS_PER_SEC)
#define CLEANING_NS (10 * NS_PER_SEC)
/* For so long after the last recording the next one begins at once. */
#define WARM_NS (60 * NS_PER_SEC)
/* Without clients, if systemd will start it again. */
#define IDLE_NS (60 * NS_PER_SEC)
/* systemd's first descriptor: SD_LISTEN_FDS_START, sd-daemon.h. */
#define LISTEN_FD 3

enum client_state { CLIENT_NONE, CLIENT_GREETED, CLIENT_RECORDS, CLIENT_READS, CLIENT_CLEANS };

struct client {
	enum client_state state;
	int fd; /* -1: gone */
	bool all; /* it may see the whole machine */
	struct peer peer;
	__u64 nonce, limit_ns, began_ns;
	struct broker_request request;
	struct served served; /* what it says */
	struct recorder recorder;
	bool told, killed; /* that it began; that it was told to end */
	bool cut; /* by the service's limit */
};

/* Of one command: its ends, and how long all of them took. */
struct tally {
	__u64 cnt, failed, ns;
};

/* For everybody's own processes; for the whole machine. */
enum { LISTEN_OWN, LISTEN_ALL, LISTEN_CNT };

struct broker {
	struct settings settings;
	int fds[LISTEN_CNT], signal_fd; /* -1: does not listen there */
	bool activated; /* by systemd, which has the sockets */
	bool ending; /* takes no more connections */
	__u64 idle_ns; /* since when there is no client */
	__u64 refused_ns; /* when that was last said of somebody */
	unsigned unsaid; /* how often it was not, since then */
	__u64 refused_cnt;
	bool metrics_due; /* they have changed */
	__u64 metrics_ns; /* when they were last written */
	struct tally tallies[BROKER_COMMANDS];
	struct spare spare;
	__u64 warm_ns; /* when somebody last recorded; 0: never */
	__u64 failed_ns; /* when a spare ended by itself; likewise */
	struct client clients[CLIENTS_MAX];
};

static const struct client no_client = { .fd = -1,
					 .peer = { .pidfd = -1 },
					 .recorder = { .pidfd = -1, .began_fd = -1 } };

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

static void print_metrics(const struct broker *b, FILE *f)
{
	unsigned now = 0;

	for (int i = 0; i < CLIENTS_MAX; i++)
		now += b->clients[i].state == CLIENT_RECORDS;
	metrics_family(f, "krait_broker_requests_total", "counter", "Commands that have ended.");
	for (int i = 0; i < BROKER_COMMANDS; i++) {
		metrics_value(f, "krait_broker_requests_total",
			      b->tallies[i].cnt - b->tallies[i].failed, "command",
			      served_command(i), "outcome", "ok", NULL);
		metrics_value(f, "krait_broker_requests_total", b->tallies[i].failed, "command",
			      served_command(i), "outcome", "failed", NULL);
	}
	metrics_family(f, "krait_broker_seconds_total", "counter", "How long these took.");
	for (int i = 0; i < BROKER_COMMANDS; i++)
		metrics_seconds(f, "krait_broker_seconds_total", b->tallies[i].ns, "command",
				served_command(i), NULL);
	metrics_number(f, "krait_broker_refused_total", "counter",
		       "Connections and requests that were refused.", b->refused_cnt);
	metrics_number(f, "krait_broker_running", "gauge", "Commands that run now.", now);
}

/* A new file, whatever somebody has put there. */
static FILE *open_new(const char *path)
{
	cleanup_close int fd = -1;
	FILE *f;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	/* The unit has another umask. */
	if (fd < 0 || fchmod(fd, 0644))
		return NULL;
	f = fdopen(fd, "w");
	if (f)
		(void)take_fd(&fd);
	return f;
}

/* As a whole: who reads it meanwhile has the one before. */
static void write_metrics(struct broker *b)
{
	cleanup_free char *path = NULL;
	FILE *f;

	b->metrics_due = false;
	b->metrics_ns = clock_monotonic_ns();
	if (!b->settings.metrics || asprintf(&path, "%s.new", b->settings.metrics) < 0)
		return;
	f = open_new(path);
	if (!f) {
		log_warn(NULL, "%s: %s", path, strerror(errno));
		return;
	}
	print_metrics(b, f);
	if (fclose(f) || rename(path, b->settings.metrics))
		log_warn(NULL, "%s: %s", b->settings.metrics, strerror(errno));
}

/* Once a second at most, whatever clients do. Returns when to come back. */
static __u64 write_due_metrics(struct broker *b, __u64 now_ns)
{
	if (!b->metrics_due)
		return ~0ULL;
	if (b->metrics_ns && now_ns - b->metrics_ns < NS_PER_SEC)
		return b->metrics_ns + NS_PER_SEC;
	write_metrics(b);
	return ~0ULL;
}

static void refuse(struct broker *b, struct client *c, int code, const char *why)
{
	say_refused(b, c, why);
	b->refused_cnt++;
	if (answer(c, BROKER_REFUSED, code, why))
		log_debug("broker", "it does not listen");
	forget(c);
	b->metrics_due = true;
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
static void accept_one(struct broker *b, int which)
{
	struct client *c = free_place(b);

	if (!c)
		return;
	c->all = which == LISTEN_ALL;
	c->fd = accept4(b->fds[which], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
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
	if (n != sizeof(c->request) || msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
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

/*
 * What YAMA lets ordinary users see of processes that are not their children: at 0 all, at 1 what needs no attaching.
 * *ret_opener: their memory then needs an opener.
 */
static const char *check_scope(const struct broker *b, const struct client *c, bool *ret_opener)
{
	const struct served *served = &c->served;
	int scope = privileges_scope();

	*ret_opener = scope > 0 && !c->all;
	if (c->all && served->locals)
		return "values of variables (--locals) are for one's own processes: set KRAIT_SOCKET to the other socket";
	if (c->all && scope <= 2)
		return NULL;
	if (scope <= 0)
		return NULL;
	if (scope > (int)b->settings.ptrace_scope)
		return "kernel.yama.ptrace_scope is higher than the administrator lets the service look at processes";
	if (served->locals)
		return "kernel.yama.ptrace_scope is not 0: values of variables (--locals) are for those who may attach";
	return NULL;
}

/* Frames of the kernel, where it shows its symbols to everybody: kallsyms_show_value() in kernel/ksyms_common.c. */
static bool kernel_is_shown(void)
{
	return sysctl_kernel("perf_event_paranoid", 2) <= 1 && !sysctl_kernel("kptr_restrict", 1);
}

static const char *check_quotas(const struct broker *b, const struct client *asks)
{
	static _Thread_local char why[96];
	__u64 rates = asks->served.rate, bytes = asks->served.ring + asks->served.unwind;
	unsigned own = 0;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &b->clients[i];

		if (c->state != CLIENT_RECORDS)
			continue;
		own += c->peer.uid == asks->peer.uid;
		rates += c->served.rate;
		bytes += c->served.ring + c->served.unwind;
	}
	snprintf(why, sizeof(why), "%u recordings of yours run already, which is the limit", own);
	if (own >= b->settings.recordings)
		return why;
	if (bytes > b->settings.memory)
		return "the service's memory limit leaves too little for this one (--ring-size, --unwind-memory)";
	return rates > b->settings.rate ?
		       "the service's rate limit leaves too little for this one (-F)" :
		       NULL;
}

static void make_job(const struct broker *b, const struct client *c, struct recorder_job *ret)
{
	*ret = (struct recorder_job){ .peer = &c->peer,
				      .request = &c->request,
				      .served = &c->served,
				      .kernel = kernel_is_shown(),
				      .all = c->all,
				      .bytes = b->settings.bytes,
				      .client_fd = c->fd };
}

static void start(struct broker *b, struct client *c)
{
	const char *why = take_request(c);
	struct recorder_job job;
	int err;

	if (!why)
		why = served_check(&c->request, &c->served);
	/* Again, now that it is known to be the one that has sent the request. */
	if (!why)
		why = peer_check(&c->peer);
	make_job(b, c, &job);
	if (!why)
		why = check_scope(b, c, &job.opener);
	if (!why && c->served.kernel && !job.kernel)
		why = "the kernel's functions (--kernel) are shown where kernel.perf_event_paranoid is at most 1 and "
		      "kernel.kptr_restrict 0";
	if (!why)
		why = check_quotas(b, c);
	if (why) {
		refuse(b, c, EXIT_CODE_PERMISSION, why);
		return;
	}
	if (c->served.duration_ns > b->settings.duration_ns) {
		c->served.duration_ns = b->settings.duration_ns;
		c->served.limited = true;
	}
	err = recorder_start(&c->recorder, &job, &b->spare);
	if (err) {
		refuse(b, c, EXIT_CODE_KERNEL, strerror(-err));
		return;
	}
	c->state = CLIENT_RECORDS;
	c->began_ns = clock_monotonic_ns();
	c->limit_ns = c->began_ns + c->served.duration_ns + STARTING_NS;
	b->metrics_due = true;
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

/* Who, what, how long; no name, and nothing of what was seen. */
static void note_end(struct broker *b, const struct client *c, int code)
{
	const struct served *s = &c->served;
	struct tally *t = &b->tallies[c->request.command];
	__u64 took_ns = clock_monotonic_ns() - c->began_ns;
	char what[64] = "all that the user sees", rate[48] = "";

	if (s->pid_cnt)
		snprintf(what, sizeof(what), "%u process%s, the first %d", s->pid_cnt,
			 s->pid_cnt == 1 ? "" : "es", s->pids[0]);
	if (s->rate)
		snprintf(rate, sizeof(rate), " at %llu Hz", s->rate);
	log_info(NULL, "user %u, process %d%s: %s of %s%s for %.1f s: exit code %d", c->peer.uid,
		 (int)c->peer.pid, c->all ? " (sees the whole machine)" : "",
		 served_command(c->request.command), what, rate, (double)took_ns / NS_PER_SEC,
		 code);
	t->cnt++;
	t->failed += code != EXIT_CODE_OK;
	t->ns += took_ns;
}

static void look_at_recorder(struct broker *b, struct client *c)
{
	char byte;
	int code;

	if (c->state == CLIENT_RECORDS && !c->told && c->recorder.began_fd >= 0) {
		ssize_t n = read(c->recorder.began_fd, &byte, 1);

		c->told = n == 1 && !answer(c, BROKER_BEGAN, 0, "");
		/* Its own clock begins now. */
		if (c->told && !c->killed)
			c->limit_ns = clock_monotonic_ns() + c->served.duration_ns + STARTING_NS;
		close(c->recorder.began_fd);
		c->recorder.began_fd = -1;
	}
	if (!recorder_ended(&c->recorder, &code))
		return;
	if (c->state == CLIENT_CLEANS) {
		forget(c);
		return;
	}
	note_end(b, c, code);
	c->state = CLIENT_READS;
	b->metrics_due = true;
	c->limit_ns = clock_monotonic_ns() + (b->ending ? ENDING_NS : READING_NS);
	if (answer(c, BROKER_DONE, code, c->cut ? "the service's time limit has ended it" : ""))
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
		if (!c->killed) {
			c->limit_ns = ~0ULL;
			c->cut = c->served.limited;
			end_recording(c);
			break;
		}
		/* fallthrough */
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

/* Not while a recording begins: it would take the CPU from it. Returns when to come back. */
static __u64 keep_spare(struct broker *b, __u64 now_ns)
{
	__u64 quiet_ns = now_ns;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &b->clients[i];

		if (c->state != CLIENT_RECORDS || c->request.command != BROKER_RECORD)
			continue;
		if (c->told)
			b->warm_ns = now_ns;
		/* One that never begins must not keep a spare from others. */
		else if (c->began_ns + STARTING_NS > quiet_ns)
			quiet_ns = c->began_ns + STARTING_NS;
	}
	if (!b->warm_ns || now_ns - b->warm_ns >= WARM_NS || b->ending)
		spare_end(&b->spare);
	else if (!b->spare.pid && quiet_ns > now_ns)
		return quiet_ns;
	else if (!b->spare.pid && (!b->failed_ns || now_ns - b->failed_ns >= WARM_NS) &&
		 spare_start(&b->spare, kernel_is_shown()))
		b->failed_ns = now_ns;
	return b->spare.pid ? b->warm_ns + WARM_NS : ~0ULL;
}

enum {
	POLL_LISTEN,
	POLL_SIGNAL = POLL_LISTEN + LISTEN_CNT,
	POLL_SPARE,
	POLL_CLIENTS,
	POLL_EACH = 3
};

/* Per client: its connection, its recorder, and what that says. Returns when the next limit is reached. */
static __u64 fill(struct broker *b, struct pollfd *fds)
{
	__u64 until_ns = ~0ULL;

	for (int i = 0; i < LISTEN_CNT; i++)
		fds[POLL_LISTEN + i] =
			(struct pollfd){ .fd = !b->ending && free_place(b) ? b->fds[i] : -1,
					 .events = POLLIN };
	fds[POLL_SIGNAL] = (struct pollfd){ .fd = b->signal_fd, .events = POLLIN };
	fds[POLL_SPARE] = (struct pollfd){ .fd = spare_fd(&b->spare), .events = POLLIN };
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
		__u64 now_ns = clock_monotonic_ns(), spare_ns = keep_spare(b, now_ns);
		__u64 until_ns = fill(b, fds), metrics_ns = write_due_metrics(b, now_ns);

		if (is_idle(b, now_ns))
			return;
		if (metrics_ns < until_ns)
			until_ns = metrics_ns;
		if (spare_ns < until_ns && spare_ns > now_ns)
			until_ns = spare_ns;
		if (b->activated && b->idle_ns)
			until_ns = b->idle_ns + IDLE_NS < until_ns ? b->idle_ns + IDLE_NS :
								     until_ns;
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), wait_ms(now_ns, until_ns)) < 0 &&
		    errno != EINTR)
			return;
		if (fds[POLL_SIGNAL].revents && !begin_end(b))
			return;
		now_ns = clock_monotonic_ns();
		if (fds[POLL_SPARE].revents && !spare_hear(&b->spare)) {
			log_warn(
				NULL,
				"the spare recorder has ended: recordings begin later for a minute");
			b->failed_ns = now_ns;
		}
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
		for (int i = 0; i < LISTEN_CNT; i++)
			if (fds[POLL_LISTEN + i].revents)
				accept_one(b, i);
	}
}

/* ---- begin and end ---------------------------------------------------------------------------- */

/* Is the i-th of "socket:all" the one for the whole machine? */
static bool is_named_all(const char *names, int i)
{
	for (; names && i; i--)
		names = strchr(names, ':') ? strchr(names, ':') + 1 : NULL;
	return names && !strncmp(names, "all", 3) && (!names[3] || names[3] == ':');
}

/* The sockets that systemd passes: sd_listen_fds(3). */
static bool take_passed(struct broker *b)
{
	const char *pid = getenv("LISTEN_PID"), *cnt = getenv("LISTEN_FDS");
	const int n = cnt ? atoi(cnt) : 0;

	if (!pid || atoi(pid) != getpid() || n < 1 || n > LISTEN_CNT)
		return false;
	for (int i = 0; i < n; i++) {
		const int which = is_named_all(getenv("LISTEN_FDNAMES"), i) ? LISTEN_ALL :
									      LISTEN_OWN;
		socklen_t len = sizeof(int);
		int type = 0, fd;

		if (getsockopt(LISTEN_FD + i, SOL_SOCKET, SO_TYPE, &type, &len) ||
		    type != SOCK_SEQPACKET || b->fds[which] >= 0)
			return false;
		fd = fcntl(LISTEN_FD + i, F_DUPFD_CLOEXEC, LISTEN_FD + LISTEN_CNT);
		close(LISTEN_FD + i);
		/* Whoever has left before it is accepted must not make the broker wait for the next one. */
		if (fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK))
			return false;
		b->fds[which] = fd;
	}
	b->activated = true;
	return true;
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

/* Nobody may connect before it has its mode and group. */
static int listen_at(const char *path, mode_t mode, gid_t group, int *ret, struct error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char folder[sizeof(addr.sun_path)];

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	if (*folder && mkdir(folder, 0755) && errno != EEXIST)
		return error_set(err, errno, EXIT_CODE_OUTPUT, "%s: %s", folder, strerror(errno));
	if (remove_old(&addr, err))
		return -1;
	*ret = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*ret < 0 || bind(*ret, (struct sockaddr *)&addr, sizeof(addr)) ||
	    chown(path, 0, group) || chmod(path, mode) || listen(*ret, CLIENTS_MAX))
		return error_set(err, errno, EXIT_CODE_OUTPUT, "%s: %s", path, strerror(errno));
	return 0;
}

static int listen_everywhere(struct broker *b, struct error *err)
{
	const struct settings *s = &b->settings;

	if (listen_at(s->socket, 0666, 0, &b->fds[LISTEN_OWN], err))
		return -1;
	return s->all_socket ?
		       listen_at(s->all_socket, 0660, s->all_group, &b->fds[LISTEN_ALL], err) :
		       0;
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
	if (!take_passed(b) && listen_everywhere(b, err))
		return -1;
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	b->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (b->signal_fd < 0)
		return error_set(err, errno, EXIT_CODE_KERNEL, "signalfd: %s", strerror(errno));
	if (rights_keep(recorder_capabilities(b->fds[LISTEN_ALL] >= 0)))
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
	b->fds[LISTEN_OWN] = b->fds[LISTEN_ALL] = b->signal_fd = -1;
	b->spare = SPARE_NONE;
	for (int i = 0; i < CLIENTS_MAX; i++)
		b->clients[i] = no_client;
	if (settings_parse(&b->settings, argc, argv))
		return EXIT_CODE_USAGE;
	if (prepare(b, &err)) {
		log_error(NULL, "%s", err.text);
		return err.code;
	}
	serve(b);
	if (b->metrics_due)
		write_metrics(b);
	/* Recorders that are left end with the broker; a client keeps what was saved. */
	if (!b->activated)
		unlink(b->settings.socket);
	if (!b->activated && b->settings.all_socket)
		unlink(b->settings.all_socket);
	return EXIT_CODE_OK;
}
