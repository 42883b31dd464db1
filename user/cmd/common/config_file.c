/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/common/arguments.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/data/vec.h"
#include "base/files/sudo_user.h"

#define FILE_MAX (64U << 10)
/* inih splits longer lines. */
#define LINE_MAX_BYTES 198
#define ARGUMENTS_MAX 512
#define OPTION_NAME_MAX 64

struct loader {
	const struct argp *argp;
	struct config_arguments *to;
	const char *section; /* the wanted one; NULL: all */
	bool is_other; /* what follows is of another section */
	unsigned line;
	int cap;
	bool secret; /* contains a secret */
	char why[200];
};

/* ---- one key ---------------------------------------------------------------------------------- */

static bool is_yes(const char *value)
{
	return !strcmp(value, "yes") || !strcmp(value, "true") || !strcmp(value, "on");
}

static bool is_no(const char *value)
{
	return !strcmp(value, "no") || !strcmp(value, "false") || !strcmp(value, "off");
}

static int refuse(struct loader *l, const char *what, const char *name)
{
	if (!l->why[0])
		snprintf(l->why, sizeof(l->why), "%s: \"%.64s\"", what, name);
	return 0;
}

static int add(struct loader *l, const char *name, const char *value)
{
	char *text;

	if (asprintf(&text, "--%s%s%s", name, value ? "=" : "", value ? value : "") < 0)
		return refuse(l, "out of memory", name);
	if (l->to->argc == ARGUMENTS_MAX || vec_reserve(l->to->argv, l->cap, l->to->argc + 2)) {
		free(text);
		return refuse(l, "too many keys", name);
	}
	l->to->argv[l->to->argc++] = text;
	l->to->own++;
	return 1;
}

/* If the feature is on by default, there is an option that turns it off. */
static int turn_off(struct loader *l, const char *name)
{
	char option[OPTION_NAME_MAX];

	snprintf(option, sizeof(option), "no-%s", name);
	return arguments_find(l->argp, option) ? add(l, option, NULL) : 1;
}

/* Called by inih; returning 0 reports an error. */
static int on_key(void *user, const char *section, const char *name, const char *value)
{
	struct loader *l = user;
	const struct argp_option *o = arguments_find(l->argp, name);
	bool optional;

	if (!o || !strcmp(name, "config") || !strcmp(name, "check-config"))
		return refuse(l, "there is no such key", name);
	if (!strcmp(name, "export-header"))
		l->secret = true;
	optional = o->arg && o->flags & OPTION_ARG_OPTIONAL;
	if (o->arg && !optional)
		return add(l, name, value);
	if (is_no(value))
		return turn_off(l, name);
	if (is_yes(value))
		return add(l, name, NULL);
	return optional ? add(l, name, value) : refuse(l, "this key is yes or no", name);
}

/* ---- the file --------------------------------------------------------------------------------- */

static int check_writers(const char *path, const struct stat *st, struct error *err)
{
	if (!S_ISREG(st->st_mode))
		return error_set(err, EINVAL, EXIT_CODE_USAGE, "%s is not a regular file", path);
	if (st->st_uid != 0 && st->st_uid != sudo_user_uid())
		return error_set(err, EPERM, EXIT_CODE_USAGE,
				 "%s belongs to another user, who could decide where krait sends "
				 "what it sees (chown root %s)",
				 path, path);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, EPERM, EXIT_CODE_USAGE,
				 "others can write to %s, so krait does not use it (chmod go-w %s)",
				 path, path);
	if (st->st_size > FILE_MAX)
		return error_set(err, EFBIG, EXIT_CODE_USAGE, "%s is larger than %u KiB", path,
				 FILE_MAX >> 10);
	return 0;
}

/* Returns the file's text, to be freed; NULL with *err filled. */
static char *read_config(const char *path, struct stat *st, struct error *err)
{
	cleanup_close int fd = sudo_user_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	cleanup_free char *text = malloc(FILE_MAX + 1);
	ssize_t len = 0, n = 1;

	if (fd < 0 || fstat(fd, st) || !text) {
		int errnum = fd < 0 ? -fd : errno;

		error_set(err, errnum, EXIT_CODE_USAGE, "cannot read %s: %s", path,
			  sudo_user_why(errnum));
		return NULL;
	}
	if (check_writers(path, st, err))
		return NULL;
	while (n > 0 && len < FILE_MAX) {
		n = read(fd, text + len, FILE_MAX - (size_t)len);
		len += n > 0 ? n : 0;
	}
	text[len] = '\0';
	if (n >= 0 && strlen(text) == (size_t)len)
		return take_ptr(&text);
	error_set(err, EINVAL, EXIT_CODE_USAGE, "%s is not a text file", path);
	return NULL;
}

/* "[record]": what follows is of that command. */
static bool take_section(struct loader *l, const char *line)
{
	size_t len = strcspn(line, "]");

	if (!l->section || *line != '[' || !line[len] ||
	    line[len + 1 + strspn(line + len + 1, " \t\r")])
		return false;
	l->is_other = strlen(l->section) != len - 1 || strncmp(line + 1, l->section, len - 1);
	return true;
}

/* As git has it: a key alone is yes, and a value may be in quotes. */
static int parse_git(struct loader *l, char *line)
{
	char *value = strchr(line, '='), *last;
	char whole[LINE_MAX_BYTES + sizeof(" = yes")];

	if (take_section(l, line) || l->is_other || !*line || *line == '#' || *line == ';')
		return 0;
	last = line + strlen(line);
	while (last > line && strchr(" \t\r", last[-1]))
		*--last = '\0';
	if (!value) {
		snprintf(whole, sizeof(whole), "%s = yes", line);
		return ini_parse_string(whole, on_key, l);
	}
	value += 1 + strspn(value + 1, " \t");
	if (*value == '"' && last > value + 1 && last[-1] == '"') {
		last[-1] = '\0';
		memmove(value, value + 1, strlen(value));
	}
	return ini_parse_string(line, on_key, l);
}

/* Parses line by line, so that messages can name the line. */
static int parse(struct loader *l, char *text, const char *path, struct error *err)
{
	char *save = text, *line;

	while ((line = strsep(&save, "\n"))) {
		l->line++;
		if (strlen(line) > LINE_MAX_BYTES)
			return error_set(err, EINVAL, EXIT_CODE_USAGE,
					 "%s:%u: the line is longer than %d characters", path,
					 l->line, LINE_MAX_BYTES);
		/* A continuation line would have no key here. */
		line += strspn(line, " \t\r");
		if (l->section ? parse_git(l, line) : ini_parse_string(line, on_key, l))
			return error_set(err, EINVAL, EXIT_CODE_USAGE, "%s:%u: %s", path, l->line,
					 l->why[0] ? l->why :
						     "neither \"key = value\" nor a [heading]");
	}
	return 0;
}

static int load(struct loader *l, const char *path, struct error *err)
{
	struct stat st;
	cleanup_free char *text = read_config(path, &st, err);

	if (!text || parse(l, text, path, err))
		return -1;
	if (l->secret && st.st_mode & (S_IRGRP | S_IROTH))
		return error_set(err, EPERM, EXIT_CODE_USAGE,
				 "%s contains headers, and others can read it (chmod 600 %s)", path,
				 path);
	return 0;
}

const char *config_file_path(int argc, char **argv)
{
	const char *path = NULL;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], "--config=", strlen("--config=")))
			path = argv[i] + strlen("--config=");
		else if (!strcmp(argv[i], "--config") && i + 1 < argc)
			path = argv[++i];
	}
	return path;
}

int config_file_load(struct config_arguments *ret, const char *path, const char *section,
		     const struct argp *argp, int argc, char **argv, struct error *err)
{
	struct loader l = { .argp = argp, .to = ret, .section = section, .is_other = section };
	int result = 0;

	*ret = (struct config_arguments){ 0 };
	if (vec_reserve(ret->argv, l.cap, argc + 1))
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	ret->argv[ret->argc++] = argv[0];
	if (path)
		result = load(&l, path, err);
	if (!result && vec_reserve(ret->argv, l.cap, ret->argc + argc + 1))
		result = error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	if (result) {
		config_arguments_free(ret);
		return result;
	}
	for (int i = 1; i < argc; i++)
		ret->argv[ret->argc++] = argv[i];
	ret->argv[ret->argc] = NULL;
	return 0;
}

void config_arguments_free(struct config_arguments *a)
{
	for (int i = 1; i <= a->own; i++)
		free(a->argv[i]);
	free(a->argv);
	*a = (struct config_arguments){ 0 };
}

/* ---- defaults --------------------------------------------------------------------------------- */

bool config_file_defaults(char *buf, size_t size)
{
	const char *given = secure_getenv("KRAIT_CONFIG"), *base = NULL;
	char home[PATH_MAX];
	int n, fd;

	if (given && !*given)
		return false;
	/* Under sudo that would be root's, if it is anybody's. */
	if (sudo_user_uid() == getuid())
		base = secure_getenv("XDG_CONFIG_HOME");
	if (given)
		n = snprintf(buf, size, "%s", given);
	else if (base && *base == '/')
		n = snprintf(buf, size, "%s/krait/config", base);
	else if (!sudo_user_home(home, sizeof(home)))
		n = snprintf(buf, size, "%s/.config/krait/config", home);
	else
		return false;
	if (n < 0 || (size_t)n >= size)
		return false;
	if (given)
		return true;
	fd = sudo_user_open(buf, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}
