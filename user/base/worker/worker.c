/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/worker/channel.h"
#include "base/worker/keeper.h"
#include "base/worker/rights.h"
#include "base/worker/role.h"

struct worker {
	pid_t pid; /* 0: the keeper's child, not ours */
	int fd;
	struct worker *next; /* in the list of dying workers */
};

/* Global, because children belong to the process; so does the list of those not yet reaped. */
static struct worker *dying;
static pthread_mutex_t dying_lock = PTHREAD_MUTEX_INITIALIZER;
static int opener = -1; /* for probers */
/* Workers that nobody has asked for yet. */
#define AHEAD_MAX 4
static struct {
	const char *role;
	struct worker *worker; /* NULL: taken */
} ahead[AHEAD_MAX];
static unsigned ahead_cnt;

static bool has_ended(pid_t pid)
{
	pid_t r;

	do {
		r = pid ? waitpid(pid, NULL, WNOHANG) : -1;
	} while (r < 0 && errno == EINTR);
	return r != 0; /* also if other code has already reaped it */
}

unsigned worker__dying(void)
{
	struct worker **link = &dying;
	unsigned cnt = 0;

	pthread_mutex_lock(&dying_lock);
	while (*link) {
		struct worker *w = *link;

		if (has_ended(w->pid)) {
			*link = w->next;
			free(w);
		} else {
			link = &w->next;
			cnt++;
		}
	}
	pthread_mutex_unlock(&dying_lock);
	return cnt;
}

/* Frees it once it has ended. */
static void let_die(struct worker *w)
{
	if (has_ended(w->pid)) {
		free(w);
		return;
	}
	pthread_mutex_lock(&dying_lock);
	w->next = dying;
	dying = w;
	pthread_mutex_unlock(&dying_lock);
}

void worker__abandon(struct worker *w)
{
	if (!w)
		return;
	if (w->pid)
		kill(w->pid, SIGKILL);
	close(w->fd); /* which ends a worker of the keeper's */
	let_die(w);
}

int worker__hand_over(struct worker *w)
{
	int fd = w->fd;

	let_die(w);
	return fd;
}

/*
 * Makes two connected descriptors with numbers above those the child gets. Ours is non-blocking,
 * the other blocks.
 */
static int make_channel(int *ret_ours, int *ret_theirs)
{
	int fds[2], size = 4 * CHANNEL_MAX;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	for (int i = 0; i < 2; i++) {
		int low = fds[i];

		fds[i] = fcntl(low, F_DUPFD_CLOEXEC, ROLE_OPENER_FD + 1);
		close(low);
		if (fds[i] >= 0)
			setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	}
	*ret_ours = fds[0];
	*ret_theirs = fds[1];
	if (fds[0] < 0 || fds[1] < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK))
		return -EMFILE;
	return 0;
}

/* Gives the child standard descriptors that lead nowhere, the channel, and nothing else. */
static int set_actions(posix_spawn_file_actions_t *actions, int theirs, int opens)
{
	int r = 0, last = ROLE_CHANNEL_FD;

	for (int fd = 0; fd <= 2 && !r; fd++) {
#ifdef __SANITIZE_ADDRESS__
		if (fd == 2)
			break; /* sanitizer reports should stay visible */
#endif
		r = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
	}
	if (!r)
		r = posix_spawn_file_actions_adddup2(actions, theirs, ROLE_CHANNEL_FD);
	if (!r && opens >= 0)
		r = posix_spawn_file_actions_adddup2(actions, opens, last = ROLE_OPENER_FD);
	if (!r)
		r = posix_spawn_file_actions_addclosefrom_np(actions, last + 1);
	return r;
}

/*
 * Starts a new session, so that the terminal's signals reach only krait. Workers should not have
 * krait's recording priority either (base/system/priority.h); but krait waits until exec, so the role
 * itself drops the priority (role.c).
 */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none;
	int r;

	sigemptyset(&none);
	r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	return r ? r : posix_spawnattr_setsigmask(attributes, &none);
}

/*
 * Returns 0 or an errno. posix_spawn() shares krait's memory until exec and runs no handler
 * meanwhile.
 */
static int spawn(const char *role, int theirs, char *option, pid_t *ret)
{
	char name[32];
	char *argv[] = { name, option, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r;

	snprintf(name, sizeof(name), ROLE_PREFIX "%s", role);
	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return r;
	r = posix_spawnattr_init(&attributes);
	if (!r) {
		r = set_actions(&actions, theirs, strcmp(role, "prober") ? -1 : opener);
		if (!r)
			r = set_attributes(&attributes);
		if (!r) {
			__u64 before = rights_hand_down();

			r = posix_spawn(ret, "/proc/self/exe", &actions, &attributes, argv,
					environ);
			rights_take_back(before);
		}
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

void worker_hand_opener(int fd)
{
	opener = fd;
}

/* option: its second argument; NULL: none. */
static struct worker *start(const char *role, char *option, struct error *err)
{
	cleanup_close int ours = -1, theirs = -1;
	cleanup_free struct worker *w = calloc(1, sizeof(*w));
	int r;

	worker__dying(); /* reaps */
	r = w ? 0 : -ENOMEM;
	if (!r && keeper_is_there()) {
		ours = keeper_open(KEEPER_WORKER, role);
		r = ours < 0 ? ours : 0;
	} else if (!r) {
		r = make_channel(&ours, &theirs);
		if (!r)
			r = -spawn(role, theirs, option, &w->pid);
	}
	if (r) {
		error_set(err, -r, EXIT_CODE_KERNEL, "cannot start the %s process: %s%s", role,
			  strerror(-r),
			  access("/dev/null", F_OK) ? " (there is no /dev/null here)" : "");
		return NULL;
	}
	w->fd = take_fd(&ours);
	return take_ptr(&w);
}

struct worker *worker__start(const char *role, struct error *err)
{
	for (unsigned i = 0; i < ahead_cnt; i++)
		if (ahead[i].worker && !strcmp(ahead[i].role, role))
			return take_ptr(&ahead[i].worker);
	return start(role, NULL, err);
}

void worker_start_ahead(const char *role, bool parses)
{
	struct error err;

	if (ahead_cnt == AHEAD_MAX)
		return;
	ahead[ahead_cnt].role = role;
	ahead[ahead_cnt].worker =
		start(role, (char *)(parses ? ROLE_AHEAD_PARSES : ROLE_AHEAD), &err);
	ahead_cnt += ahead[ahead_cnt].worker != NULL;
}

void worker_tell_ids(const struct rights_ids *ids, int opener_fd)
{
	for (unsigned i = 0; i < ahead_cnt; i++) {
		const bool opens = opener_fd >= 0 && !strcmp(ahead[i].role, "prober");

		if (!ahead[i].worker ||
		    !channel_send(ahead[i].worker->fd, ids, sizeof(*ids), &opener_fd, opens))
			continue;
		worker__abandon(ahead[i].worker);
		ahead[i].worker = NULL;
	}
}

int worker__fd(const struct worker *w)
{
	return w->fd;
}

pid_t worker__pid(const struct worker *w)
{
	return w->pid;
}
