/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/keeper_serve.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/common/input.h"
#include "cmd/common/page_sources.h"
#include "cmd/common/pager.h"
#include "capture/dso/dso_store.h"
#include "capture/import/import_accounts.h"
#include "output/source_file.h"
#include "profile/identities.h"
#include "native/names/kernel_symbols.h"
#include "process/parser/fetcher.h"
#include "process/proc/open_file.h"
#include "base/data/cleanup.h"
#include "base/files/output_file.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/worker/channel.h"
#include "base/worker/keeper.h"
#include "base/worker/rights.h"
#include "base/worker/role.h"
#include "base/worker/sandbox.h"
#include "base/worker/worker.h"

/* More than any command has. */
#define OUTPUTS_MAX 64
/* What the command line may name as such. */
#define OUTPUT_NAMES_MAX 32
/* Parsers are replaced as they grow old, and each capture has its own. */
#define WORKERS_MAX 4096

struct kept_output {
	struct output_file *file;
	struct dso_store *store; /* NULL: none */
};

struct keeper {
	char **argv;
	struct kept_output list[OUTPUTS_MAX];
	struct pager pager;
	struct fetch *fetch; /* NULL: none runs */
	struct identities claims; /* whose inputs were given out */
	unsigned cnt, worker_cnt;
};

/* What a request leads to, besides its result. */
struct given {
	int sent; /* what came with it; -1: nothing */
	int fd; /* to send, then closed; -1: none */
	struct keeper_answer answer;
};

/* ---- what the command line names -------------------------------------------------------------- */

/* "FILE", "-iFILE", "--input=FILE" */
static bool is_argument(const char *arg, const char *path)
{
	size_t len = strlen(arg), path_len = strlen(path);
	const char *end;

	if (!strcmp(arg, path))
		return true;
	if (*arg != '-' || !path_len || len < path_len + 2)
		return false;
	end = arg + len - path_len;
	return !strcmp(end, path) && (arg[1] != '-' || end[-1] == '=');
}

static struct {
	const char *list[OUTPUT_NAMES_MAX];
	unsigned cnt;
} output_names;

void keeper_names_output(const char *path)
{
	if (output_names.cnt < OUTPUT_NAMES_MAX)
		output_names.list[output_names.cnt++] = path;
}

/* The rest of what the command line names are inputs. */
static bool is_output_name(const char *path)
{
	for (unsigned i = 0; i < output_names.cnt; i++) {
		if (!strcmp(output_names.list[i], path))
			return true;
	}
	return !strcmp(path, "-");
}

static bool is_named(const struct keeper *k, const char *path)
{
	for (char **arg = k->argv + 1; *arg; arg++) {
		if (is_argument(*arg, path))
			return true;
	}
	return !strcmp(path, INPUT_DEFAULT);
}

/* ---- files to read ---------------------------------------------------------------------------- */

static int open_named(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	const int may = O_PATH | O_NONBLOCK | O_NOCTTY;

	if (!is_named(k, r->path))
		return -EPERM;
	ret->fd = keeper_open_named(r->path, (int)r->number & may);
	if (ret->fd < 0)
		return ret->fd;
	if (!(r->number & O_PATH))
		import_is_believed(&k->claims, ret->fd);
	return 0;
}

static int is_capture(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	return is_named(k, r->path) && input_is_capture(r->path) ? 0 : -ENOEXEC;
}

/* A core has what was in a process's memory. */
static bool is_object(int fd)
{
	struct {
		unsigned char ident[EI_NIDENT];
		__u16 type;
	} head;

	return pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	       !memcmp(head.ident, ELFMAG, SELFMAG) &&
	       (head.type == ET_EXEC || head.type == ET_DYN || head.type == ET_REL);
}

static int open_object(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	ret->fd = open_file_named(r->path);
	return ret->fd < 0 ? ret->fd : is_object(ret->fd) ? 0 : -ENOEXEC;
}

static int open_kernel_symbols(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	ret->fd = open(KALLSYMS, O_RDONLY | O_CLOEXEC);
	return ret->fd < 0 ? -errno : 0;
}

/* What a stranger's capture says of its processes' users is the stranger's word. */
static int open_source(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	struct identity said, *who = r->more_size == sizeof(said) ? &said : NULL;

	if (who) {
		memcpy(who, r->more, sizeof(*who));
		if (who->group_cnt > IDENTITY_GROUPS)
			return -EINVAL;
	}
	if (k->claims.foreign)
		who = k->claims.owner.doubt ? NULL : &k->claims.owner;
	ret->fd = source_file_open(r->path, who);
	return ret->fd < 0 ? ret->fd : 0;
}

static int open_source_below(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	if (!is_named(k, r->folder))
		return -EPERM;
	ret->fd = source_file_open_below(r->folder, r->path);
	return ret->fd < 0 ? ret->fd : 0;
}

/* ---- processes -------------------------------------------------------------------------------- */

static int start_worker(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	struct worker *w;
	struct error err;

	if (strcmp(r->path, "parser"))
		return -EPERM;
	if (k->worker_cnt == WORKERS_MAX)
		return -EAGAIN;
	k->worker_cnt++;
	w = worker__start(r->path, &err);
	if (!w)
		return -EAGAIN;
	ret->fd = worker__hand_over(w);
	return 0;
}

static int start_fetch(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	if (k->fetch)
		return -EBUSY;
	k->fetch = fetch__start(r->more, r->more_size, ret->answer.name, sizeof(ret->answer.name));
	return k->fetch ? 0 : -ENOENT;
}

static int fetch_result(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	cleanup_close int fd = -1;
	int err = -EINVAL;

	if (k->fetch)
		err = fetch__result(k->fetch, &fd, ret->answer.name, sizeof(ret->answer.name));
	if (err)
		return err;
	/* The cache's file itself: only to be read. */
	ret->fd = open_file_read(fd);
	return ret->fd < 0 ? ret->fd : 0;
}

static int end_fetch(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	fetch__end(k->fetch);
	k->fetch = NULL;
	return 0;
}

static int start_pager(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	if (k->pager.pid)
		return -EBUSY;
	pager_start(&k->pager, true);
	if (!k->pager.pid)
		return -ENOENT;
	ret->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return ret->fd < 0 ? -errno : 0;
}

static int end_pager(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	pager_end(&k->pager);
	return 0;
}

static int start_browser(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	const char *path = r->path;

	if (!is_output_name(path))
		return -EPERM;
	page_open(&path, 1);
	return 0;
}

/* ---- outputs ---------------------------------------------------------------------------------- */

/* NULL: the reader has none of that number. */
static struct kept_output *find(struct keeper *k, const struct keeper_request *r)
{
	return r->number && r->number <= k->cnt ? &k->list[r->number - 1] : NULL;
}

/* Takes over what is in *new. */
static int add(struct keeper *k, const struct kept_output *new, struct given *ret)
{
	k->list[k->cnt++] = *new;
	ret->answer.number = k->cnt;
	return 0;
}

static int open_output(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	struct kept_output new = { 0 };
	const char *name;
	int err;

	if (!is_output_name(r->path) || k->cnt == OUTPUTS_MAX)
		return -EPERM;
	err = output_file__open(&new.file, r->path, r->number);
	if (err)
		return err;
	if (output_file__is_stdout(new.file)) {
		output_file__free(new.file);
		return 0;
	}
	name = output_file__name(new.file);
	strcpy(ret->answer.name, name ? name : "");
	ret->fd = fcntl(fileno(output_file__stream(new.file)), F_DUPFD_CLOEXEC, 3);
	add(k, &new, ret);
	return ret->fd < 0 ? -errno : 0;
}

static int publish_output(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	struct kept_output *o = find(k, r);

	return o && o->file ? output_file__publish(o->file) : -EINVAL;
}

static int discard_output(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	struct kept_output *o = find(k, r);

	if (o)
		output_file__free(o->file);
	if (o)
		o->file = NULL;
	return 0;
}

/* ---- libraries beside outputs ----------------------------------------------------------------- */

static bool is_output(const struct keeper *k, const char *name)
{
	for (unsigned i = 0; i < k->cnt; i++) {
		const struct output_file *file = k->list[i].file;

		if (file && output_file__name(file) && !strcmp(output_file__name(file), name))
			return true;
	}
	return false;
}

/* The standard output, or something without a name. */
static bool is_unnamed(int fd)
{
	struct stat st, out;

	return fd >= 0 && !fstat(fd, &st) &&
	       (!S_ISREG(st.st_mode) || (!fstat(STDOUT_FILENO, &out) && st.st_dev == out.st_dev &&
					 st.st_ino == out.st_ino));
}

static int choose_store(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	const char *name = *r->path ? r->path : NULL;
	struct kept_output new = { 0 };
	int err;

	if (k->cnt == OUTPUTS_MAX || (name ? !is_output(k, name) : !is_unnamed(ret->sent)))
		return -EPERM;
	new.store = malloc(sizeof(*new.store));
	if (!new.store)
		return -ENOMEM;
	err = dso_store_choose(new.store, ret->sent, name);
	if (err) {
		free(new.store);
		return err;
	}
	strcpy(ret->answer.name, new.store->name);
	return add(k, &new, ret);
}

static int cache(const struct dso_store *s, const __u8 *build_id)
{
	char path[PATH_MAX];
	int err = dso_store_path(path, sizeof(path), s->name, build_id);

	return err ? err : dso_store_cache(s, path, build_id);
}

static int serve_store(struct keeper *k, const struct keeper_request *r, struct given *ret)
{
	struct kept_output *o = find(k, r);
	struct dso_store *s = o ? o->store : NULL;

	if (!s)
		return -EINVAL;
	switch (r->job) {
	case KEEPER_STORE_PART:
		ret->fd = dso_store_begin_part(s, r->more);
		return ret->fd < 0 ? ret->fd : 0;
	case KEEPER_STORE_PART_DONE:
		return dso_store_end_part(s, r->more, 0);
	case KEEPER_STORE_PART_FAILED:
		return dso_store_end_part(s, r->more, -ECANCELED) == -ECANCELED ? 0 : -EIO;
	case KEEPER_STORE_CACHE:
		return cache(s, r->more);
	case KEEPER_STORE_PUBLISH:
		return dso_store_publish(s, NULL);
	default:
		dso_store_discard(s);
		free(s);
		o->store = NULL;
		return 0;
	}
}

/* ---- the two processes ------------------------------------------------------------------------ */

typedef int (*job_fn)(struct keeper *k, const struct keeper_request *r, struct given *ret);

static const job_fn jobs[] = {
	[KEEPER_NAMED] = open_named,
	[KEEPER_IS_CAPTURE] = is_capture,
	[KEEPER_OBJECT] = open_object,
	[KEEPER_KERNEL_SYMBOLS] = open_kernel_symbols,
	[KEEPER_SOURCE] = open_source,
	[KEEPER_SOURCE_BELOW] = open_source_below,
	[KEEPER_WORKER] = start_worker,
	[KEEPER_FETCH] = start_fetch,
	[KEEPER_FETCH_RESULT] = fetch_result,
	[KEEPER_FETCH_END] = end_fetch,
	[KEEPER_PAGER] = start_pager,
	[KEEPER_PAGER_END] = end_pager,
	[KEEPER_BROWSER] = start_browser,
	[KEEPER_OUTPUT] = open_output,
	[KEEPER_OUTPUT_PUBLISH] = publish_output,
	[KEEPER_OUTPUT_DISCARD] = discard_output,
	[KEEPER_STORE] = choose_store,
	[KEEPER_STORE_PART] = serve_store,
	[KEEPER_STORE_PART_DONE] = serve_store,
	[KEEPER_STORE_PART_FAILED] = serve_store,
	[KEEPER_STORE_CACHE] = serve_store,
	[KEEPER_STORE_PUBLISH] = serve_store,
	[KEEPER_STORE_DISCARD] = serve_store,
};

static bool is_well_formed(const struct keeper_request *r)
{
	return r->job < sizeof(jobs) / sizeof(jobs[0]) && r->more_size <= sizeof(r->more) &&
	       memchr(r->path, '\0', sizeof(r->path)) && memchr(r->folder, '\0', sizeof(r->folder));
}

/* Returns 0, or -errno if the reader has ended, or asks what no reader does. */
static int serve_one(struct keeper *k, int channel)
{
	struct given given = { .sent = -1, .fd = -1 };
	struct keeper_request r;
	int err = channel_take(channel, &r, sizeof(r), &given.sent, -1);

	if (!err && !is_well_formed(&r))
		err = -EPROTO;
	if (!err) {
		given.answer.result = jobs[r.job](k, &r, &given);
		err = channel_send(channel, &given.answer, sizeof(given.answer), &given.fd,
				   given.fd >= 0 && !given.answer.result);
	}
	cleanup_close_(&given.sent);
	cleanup_close_(&given.fd);
	return err;
}

static void end_keeper(struct keeper *k)
{
	pager_end(&k->pager);
	fetch__end(k->fetch);
	for (unsigned i = 0; i < k->cnt; i++) {
		if (k->list[i].store)
			dso_store_discard(k->list[i].store);
		free(k->list[i].store);
		output_file__free(k->list[i].file);
	}
	identities_free(&k->claims);
}

/* Ends as the reader has ended. */
static int exit_code(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	log_error(
		NULL,
		"the process that reads the capture was ended by signal %d (%s): outputs are as they were before; "
		"if nobody sent it, the file is damaged or made to do that: please report it",
		WTERMSIG(status), strsignal(WTERMSIG(status)));
	return EXIT_CODE_CRASH;
}

static int keep(char **argv, int channel, pid_t reader)
{
	struct keeper k = { .argv = argv };
	int status = 0;

	/* The reader has it without asking. */
	if (is_named(&k, "-") && !isatty(STDIN_FILENO))
		import_is_believed(&k.claims, STDIN_FILENO);
	while (!serve_one(&k, channel))
		;
	close(channel);
	while (waitpid(reader, &status, 0) < 0 && errno == EINTR)
		;
	end_keeper(&k);
	return exit_code(status);
}

/* The terminal is not its own, so that it cannot type there. */
static int become_reader(int channel)
{
	setsid();
	prctl(PR_SET_NAME, "krait-reader");
	if (dup2(channel, ROLE_CHANNEL_FD) < 0 || fcntl(ROLE_CHANNEL_FD, F_SETFD, FD_CLOEXEC) ||
	    close_range(ROLE_CHANNEL_FD + 1, ~0U, 0))
		return -errno;
	keeper_set(ROLE_CHANNEL_FD);
	return sandbox_enter_reader();
}

void keeper_split(char **argv)
{
	int fds[2], err;
	pid_t reader;

	if (keeper_is_there() || (geteuid() && !rights_effective()))
		return;
	fflush(NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) || (reader = fork()) < 0) {
		log_error(NULL, "cannot start the process that reads the capture: %s",
			  strerror(errno));
		exit(EXIT_CODE_KERNEL);
	}
	if (reader) {
		close(fds[1]);
		exit(keep(argv, fds[0], reader));
	}
	err = become_reader(fds[1]);
	if (!err)
		return;
	log_error(NULL, "cannot give up the rights that reading a capture does not need: %s",
		  strerror(-err));
	exit(EXIT_CODE_KERNEL);
}
