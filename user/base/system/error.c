/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/error.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int error_set(struct error *err, int errnum, enum exit_code code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return errnum > 0 ? -errnum : -1;
}

const char *error_doctor(enum exit_code code)
{
	return code == EXIT_CODE_PERMISSION || code == EXIT_CODE_KERNEL ?
		       " (krait doctor checks all that is needed)" :
		       "";
}

/* sudo's own path (secure_path), on most systems. */
static bool sudo_finds(const char *path)
{
	static const char *const folders[] = { "/usr/local/sbin/krait", "/usr/local/bin/krait",
					       "/usr/sbin/krait",	"/usr/bin/krait",
					       "/sbin/krait",		"/bin/krait" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (!strcmp(path, folders[i]))
			return true;
	}
	return false;
}

/* Appends a word as a shell takes it; false, and nothing is appended, if there is no room. */
static bool append_word(char *text, size_t size, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=,./:@%";
	size_t len = strlen(text), need = 3;

	if (*word && !word[strspn(word, plain)]) {
		if (len + strlen(word) + 2 > size)
			return false;
		text[len] = ' ';
		strcpy(text + len + 1, word);
		return true;
	}
	for (const char *at = word; *at; at++)
		need += *at == '\'' ? 4 : 1;
	if (len + need + 1 > size)
		return false;
	text[len++] = ' ';
	text[len++] = '\'';
	for (; *word; word++) {
		if (*word == '\'') {
			memcpy(text + len, "'\\''", 4);
			len += 4;
		} else {
			text[len++] = *word;
		}
	}
	strcpy(text + len, "'");
	return true;
}

static bool sudo_is_hidden;

void error_hide_sudo(void)
{
	sudo_is_hidden = true;
}

const char *error_sudo(void)
{
	static char text[400];
	char path[PATH_MAX], line[4096];
	const char *word;
	ssize_t len;
	int fd;

	if (!geteuid() || sudo_is_hidden)
		return "";
	len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	strcpy(text, " (try: sudo");
	if (!*path || sudo_finds(path) || !append_word(text, sizeof(text) - 8, path))
		strcat(text, " krait");
	fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
	if (fd >= 0)
		close(fd);
	line[len > 0 ? len : 0] = '\0';
	/* Without the first word, which is krait. */
	for (word = line + strlen(line) + 1; word < line + len; word += strlen(word) + 1) {
		if (!append_word(text, sizeof(text) - 5, word)) {
			strcat(text, " ...");
			break;
		}
	}
	return strcat(text, ")");
}
