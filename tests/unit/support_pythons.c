/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_pythons.c - see support_pythons.h.
 */
#include "support_pythons.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/cleanup.h"

static bool is_runnable(const struct python *p)
{
	char file[sizeof(p->root) + sizeof(p->path)];
	bool host = !strcmp(p->root, "/");

	snprintf(file, sizeof(file), "%s%s", host ? "" : p->root, p->path);
	if (access(file, X_OK)) {
		printf("# skipped: %s %s: %s\n", p->version, file, strerror(errno));
		return false;
	}
	if (!host && geteuid()) {
		printf("# skipped: %s in %s: only root may change root\n", p->version, p->root);
		return false;
	}
	return true;
}

static bool is_listed(const struct python *pythons, size_t cnt, const char *version)
{
	for (size_t i = 0; i < cnt; i++) {
		if (!strcmp(pythons[i].version, version))
			return true;
	}
	return false;
}

static size_t parse(FILE *list, struct python *pythons, size_t cap, int minor)
{
	cleanup_free char *line = NULL;
	size_t size = 0, cnt = 0;

	while (cnt < cap && getline(&line, &size, list) > 0) {
		struct python *p = &pythons[cnt];
		int have;

		if (sscanf(line, "%31[^\t]\t%15[^\t]\t%255[^\t]\t%255[^\t\n]", p->version, p->kind,
			   p->root, p->path) != 4 ||
		    sscanf(p->version, "3.%d", &have) != 1 || have < minor ||
		    !strcmp(p->kind, "refs"))
			/* the latter has a layout unlike any other build of its version */
			continue;
		if (!is_listed(pythons, cnt, p->version) && is_runnable(p))
			cnt++;
	}
	return cnt;
}

size_t pythons_find(struct python *pythons, size_t cap, int minor)
{
	const char *matrix = getenv("KRAIT_MATRIX");
	const char *file = matrix ? matrix : getenv("KRAIT_PYTHONS");
	size_t cnt = 0;
	FILE *list;

	list = file ? fopen(file, "re") :
		      popen(KRAIT_SRCDIR "/scripts/pythons --list 2>/dev/null", "re");
	if (list) {
		cnt = parse(list, pythons, cap, minor);
		if (file)
			fclose(list);
		else
			pclose(list);
	}
	if (!cnt)
		printf("# skipped: no interpreter of 3.%d or newer (scripts/pythons)\n", minor);
	return cnt;
}

static void run(const struct python *python, int script, const char *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (script != 3 && dup2(script, 3) < 0)
		_exit(126);
	fcntl(3, F_SETFD, 0);
	if (strcmp(python->root, "/") && (chroot(python->root) || chdir("/")))
		_exit(126);
	/* /proc need not be mounted in there, so the script cannot be called /dev/fd/3. */
	execl(python->path, python->path, "-I", "-S", "-c",
	      "import os; exec(compile(os.fdopen(3).read(), 'script', 'exec'))", arg, NULL);
	_exit(127);
}

int script_start(struct script *s, const struct python *python, const char *file, const char *arg)
{
	cleanup_close int script = -1;
	int in[2], out[2];
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/unit/%s", KRAIT_SRCDIR, file);
	script = open(path, O_RDONLY | O_CLOEXEC);
	if (script < 0)
		return -errno;
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	s->pid = fork();
	if (s->pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		run(python, script, arg);
	}
	close(in[0]);
	close(out[1]);
	s->in = fdopen(in[1], "w");
	s->out = fdopen(out[0], "r");
	return s->pid > 0 && s->in && s->out ? 0 : -EAGAIN;
}

int script_end(struct script *s)
{
	int status;

	fclose(s->in);
	fclose(s->out);
	if (waitpid(s->pid, &status, 0) != s->pid)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}
