/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/dump/dump_core.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/dump/dump_print.h"
#include "cmd/common/printed.h"
#include "look/core/core.h"
#include "record/samples/still.h"
#include "process/proc/open_file.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/text/printable.h"
#include "base/system/privileges.h"
#include "base/text/stream.h"
#include "base/files/sudo_user.h"

struct dumped_core {
	const struct dump_options *options;
	struct core *core;
	struct core_facts facts;
	int fd;
	__u32 given;
	struct still *still;
	int fds[CORE_FILES_MAX]; /* of files that match the mappings; -1: none */
};

/* Opens with the caller's rights: whoever made the core chose the names. root: NULL for ours. */
static int open_regular(const char *root, const char *path)
{
	cleanup_sudo_user struct sudo_user_scope scope = { .entered = false };
	cleanup_close int at = -1, top = -1;
	struct stat st;

	if (sudo_user_enter(&scope))
		return -EPERM;
	top = root ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (root && top < 0)
		return -errno;
	at = root ? open_file_below(top, path, &st) : open_file_at(AT_FDCWD, path, &st);
	return at < 0 ? at : open_file_read(at);
}

/*
 * Whoever made the core chose the names, and could repeat the first page of a file that he knows. So
 * root gives only what everybody may read, or the core's owner.
 */
static bool may_be_given(const struct dumped_core *d, int fd)
{
	struct stat file, core;

	if (sudo_user_uid())
		return true;
	if (fstat(fd, &file) || fstat(d->fd, &core))
		return false;
	return file.st_mode & S_IROTH || (core.st_uid && core.st_uid == file.st_uid);
}

/*
 * Gives the reader the mapped files that exist here, except from file systems whose server decides
 * when a read ends.
 */
static void give_files(struct dumped_core *d)
{
	for (__u32 i = 0; i < d->facts.file_cnt && i < CORE_FILES_MAX; i++) {
		cleanup_free char *name = core__file_name(d->core, i);
		cleanup_close int fd = name && *name == '/' ? open_regular(d->options->root, name) :
							      -1;
		int err;

		if (fd < 0 || open_file_is_remote(fd) || !may_be_given(d, fd))
			continue;
		err = core__give(d->core, i, fd);
		if (!err) {
			d->given++;
			d->fds[i] = take_fd(&fd);
			continue;
		}
		log_debug("dump", "%s is not the file that was mapped: %s", name, strerror(-err));
	}
}

static int print(const struct dumped_core *d, const struct look_process *p)
{
	cleanup_free char *shown = printable(d->options->core);
	struct json writer = { .out = stdout };

	if (d->options->json) {
		json_open_array(&writer);
		dump_put_json(&writer, p, NULL, 1);
		json_close_array(&writer);
		putchar('\n');
	} else {
		printf("Core file %s", shown ? shown : "?");
		if (d->facts.signal)
			printf(", ended by SIG%s",
			       sigabbrev_np(d->facts.signal) ? sigabbrev_np(d->facts.signal) : "?");
		printf(", %u of %u mapped files are here as they were\n", d->given,
		       d->facts.file_cnt);
		dump_print(stdout, p, NULL);
	}
	if (printed("dump", stream_finish(stdout)))
		return EXIT_CODE_OUTPUT;
	return p->result ? EXIT_CODE_TARGET : look__missing(p) ? EXIT_CODE_LOSSY : EXIT_CODE_OK;
}

static int run(struct dumped_core *d)
{
	struct look_process *p;
	char why[256];
	int code, err = core__open(d->core, d->fd, &d->facts, why, sizeof(why));

	if (err) {
		log_error("dump", "%s: %s", d->options->core, why);
		return EXIT_CODE_OUTPUT;
	}
	give_files(d);
	p = look__new(d->facts.pid);
	if (!p) {
		log_error("dump", "out of memory");
		return EXIT_CODE_KERNEL;
	}
	p->locals = d->options->locals;
	p->thread = &d->options->thread;
	p->still = d->still;
	memcpy(p->process.comm, d->facts.comm, sizeof(p->process.comm));
	if (look__take_core(p, d->core, d->fds))
		log_debug("dump", "%s", p->process.why);
	code = print(d, p);
	look__free(p);
	return code;
}

int dump_core(const struct dump_options *o)
{
	struct dumped_core d = { .options = o, .fd = open_regular(NULL, o->core) };
	struct error err;
	int code = EXIT_CODE_KERNEL;

	for (__u32 i = 0; i < CORE_FILES_MAX; i++)
		d.fds[i] = -1;
	if (d.fd < 0) {
		log_error("dump", "%s: %s", o->core,
			  d.fd == -ENOEXEC ? "it is not a regular file" : strerror(-d.fd));
		return EXIT_CODE_OUTPUT;
	}
	/* Its reader drops rights that krait still needs afterwards. */
	d.core = core__new(&err);
	d.still = still__new(o->native);
	if (d.still)
		still__prepare(d.still);
	if (!d.core)
		log_error("dump", "%s", err.text);
	else if (!d.still)
		log_error("dump", "out of memory");
	else if (privileges_drop(&(const struct privileges_need){ 0 }))
		log_error("dump", "cannot give up the rights that krait does not need");
	else
		code = run(&d);
	still__free(d.still);
	core__free(d.core);
	for (__u32 i = 0; i < CORE_FILES_MAX; i++)
		cleanup_close_(&d.fds[i]);
	close(d.fd);
	return code;
}
