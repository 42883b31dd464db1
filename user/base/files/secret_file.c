/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/files/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/files/sudo_user.h"

#define FILE_SIZE_MAX (1U << 20)

static int refuse(struct error *err, int errnum, const char *what, const char *path,
		  const char *why)
{
	return error_set(err, errnum, EXIT_CODE_USAGE, "cannot use the %s %s: %s", what, path, why);
}

/*
 * Requires a regular file that belongs to root or the caller and that nobody else may write; a secret one
 * must not be readable by everybody.
 */
static int check_file(int fd, const char *path, const char *what, bool secret, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return refuse(err, errno, what, path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse(err, EINVAL, what, path, "it is not a regular file");
	if (st.st_uid && st.st_uid != sudo_user_uid())
		return refuse(err, EPERM, what, path, "it belongs to another user");
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return refuse(err, EPERM, what, path, "others can write to it (chmod go-w)");
	if (secret && st.st_mode & S_IROTH)
		return refuse(err, EPERM, what, path, "everybody can read it (chmod o-r)");
	if (st.st_size > FILE_SIZE_MAX)
		return refuse(err, EFBIG, what, path, "it is larger than 1 MiB");
	return 0;
}

int secret_file_read(char **ret, const char *path, const char *what, bool secret, struct error *err)
{
	cleanup_close int fd = -1;
	cleanup_free char *text = NULL;
	size_t len = 0;
	ssize_t n = 1;
	int r;

	if (!path)
		return 0;
	fd = sudo_user_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return refuse(err, -fd, what, path, sudo_user_why(-fd));
	r = check_file(fd, path, what, secret, err);
	if (r)
		return r;
	text = calloc(1, FILE_SIZE_MAX + 1);
	if (!text)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	while (n > 0 && len < FILE_SIZE_MAX) {
		n = read(fd, text + len, FILE_SIZE_MAX - len);
		if (n < 0)
			return refuse(err, errno, what, path, strerror(errno));
		len += (size_t)n;
	}
	*ret = strdup(text);
	explicit_bzero(text, len);
	return *ret ? 0 : error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
}

/* Reads one line of characters that are allowed in a header. */
int secret_file_token(char **ret, const char *path, struct error *err)
{
	int r = secret_file_read(ret, path, "token file", true, err);

	if (r || !*ret)
		return r;
	(*ret)[strcspn(*ret, "\r\n")] = '\0';
	for (const char *c = *ret; *c; c++)
		if (*c <= ' ' || *c > '~')
			return refuse(
				err, EINVAL, "token file", path,
				"its first line has characters other than letters, digits and "
				"punctuation");
	return **ret ? 0 : refuse(err, EINVAL, "token file", path, "it is empty");
}
