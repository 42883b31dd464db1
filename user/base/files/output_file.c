/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/files/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/text/stream.h"
#include "base/files/sudo_user.h"
#include "base/worker/keeper.h"

#define OLD ".old"
#define MODE 0600
/* Attempts at a free name: with 36 random bits, more than one collision is no accident. */
#define TRIES 16

struct output_file {
	FILE *stream;
	int dir; /* the folder; -1: writing in place */
	char base[NAME_MAX + 1]; /* the name in that folder */
	char part[NAME_MAX + 1]; /* temporary name; empty: the file has no name yet */
	char name[PATH_MAX], kept[PATH_MAX]; /* empty: none */
	__u64 size; /* once it is finished */
	__u32 number; /* with a keeper, which has the real one; 0: there is none */
	bool is_stdout, keep_old, published;
};

#define WORD 6

/* "aB3x9Z" */
static void choose_word(char ret[WORD + 1])
{
	static const char digits[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	unsigned char bytes[WORD];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		memset(bytes, getpid() & 0xff, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		ret[i] = digits[bytes[i] % (sizeof(digits) - 1)];
	ret[WORD] = '\0';
}

static void choose_part(struct output_file *f)
{
	char word[WORD + 1];

	choose_word(word);
	snprintf(f->part, sizeof(f->part), "%.*s.%s", NAME_MAX - (int)sizeof(word), f->base, word);
}

/* ---- opening ---------------------------------------------------------------------------------- */

/* Makes an unnamed file if the file system can: then even a killed krait leaves nothing behind. */
static int create(struct output_file *f)
{
	int fd = openat(f->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);

	for (int i = 0; fd < 0 && i < TRIES; i++) {
		choose_part(f);
		fd = openat(f->dir, f->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    MODE);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd >= 0)
		return fd;
	f->part[0] = '\0';
	return -errno;
}

/* Determines absolute names for callers that need them before publication. */
static int set_names(struct output_file *f)
{
	char link[64], folder[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->dir);
	n = readlink(link, folder, sizeof(folder) - 1);
	if (n <= 0)
		return -errno;
	folder[n] = '\0';
	n = snprintf(f->name, sizeof(f->name), "%s/%s", n > 1 ? folder : "", f->base);
	if (n < 0 || n >= (ssize_t)sizeof(f->name))
		return -ENAMETOOLONG;
	if (!f->keep_old)
		return 0;
	n = snprintf(f->kept, sizeof(f->kept), "%s" OLD, f->name);
	return n < 0 || n >= (ssize_t)sizeof(f->kept) ? -ENAMETOOLONG : 0;
}

static int open_beside(struct output_file *f)
{
	cleanup_close int fd = -1;
	int err = set_names(f);

	/* A file that the caller may not write is not replaced either. */
	if (!err && faccessat(f->dir, f->base, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) &&
	    errno != ENOENT)
		err = -errno;
	if (err)
		return err;
	fd = create(f);
	if (fd < 0)
		return fd;
	f->stream = fdopen(fd, "w");
	if (!f->stream)
		return -ENOMEM;
	take_fd(&fd);
	return 0;
}

static bool is_stdout(const struct stat *st)
{
	struct stat out;

	return !fstat(STDOUT_FILENO, &out) && out.st_dev == st->st_dev && out.st_ino == st->st_ino;
}

static void use_stdout(struct output_file *f)
{
	f->stream = stdout;
	f->is_stdout = true;
}

/*
 * For anything but a regular file, directly or through a link. Checks the type before opening for
 * writing, because opening a device can have effects.
 */
static int open_in_place(struct output_file *f, bool is_link)
{
	cleanup_close int path_fd =
		openat(f->dir, f->base, O_PATH | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW));
	cleanup_close int fd = -1;
	char path[64];
	struct stat st;

	if (path_fd < 0 || fstat(path_fd, &st))
		return is_link ? -ELOOP : -errno;
	if (is_stdout(&st)) { /* /dev/stdout */
		use_stdout(f);
		return 0;
	}
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		return -ELOOP;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	f->stream = fdopen(fd, "w");
	if (!f->stream)
		return -ENOMEM;
	take_fd(&fd);
	return 0;
}

static int split(struct output_file *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	const char *base = slash ? slash + 1 : path;

	if (!folder)
		return -ENOMEM;
	if (!*base || !strcmp(base, ".") || !strcmp(base, ".."))
		return *path ? -EISDIR : -ENOENT;
	if (strlen(base) >= sizeof(f->base))
		return -ENAMETOOLONG;
	strcpy(f->base, base);
	f->dir = open(*folder ? folder : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return f->dir < 0 ? -errno : 0;
}

static int open_named(struct output_file *f, const char *path)
{
	cleanup_sudo_user struct sudo_user_scope scope;
	int err = sudo_user_enter(&scope);
	struct stat st;
	bool found;

	if (!err)
		err = split(f, path);
	if (err)
		return err;
	found = !fstatat(f->dir, f->base, &st, AT_SYMLINK_NOFOLLOW);
	if (!found && errno != ENOENT)
		return -errno;
	/* A link that is renamed to keep it is not followed. */
	if (!found || S_ISREG(st.st_mode) || (S_ISLNK(st.st_mode) && f->keep_old))
		return open_beside(f);
	err = open_in_place(f, S_ISLNK(st.st_mode));
	cleanup_close_(&f->dir);
	f->dir = -1;
	return err;
}

/* ---- with a keeper ---------------------------------------------------------------------------- */

static int open_by_keeper(struct output_file *f, const char *path, unsigned how)
{
	struct keeper_request request = { .job = KEEPER_OUTPUT, .number = how };
	struct keeper_answer answer;
	cleanup_close int fd = -1;
	int err;

	if (strlen(path) >= sizeof(request.path))
		return -ENAMETOOLONG;
	strcpy(request.path, path);
	err = keeper_ask(&request, -1, &answer, &fd);
	if (err)
		return err;
	if (fd < 0) {
		use_stdout(f);
		return 0;
	}
	f->number = answer.number;
	snprintf(f->name, sizeof(f->name), "%s", answer.name);
	f->stream = fdopen(fd, "w");
	if (!f->stream)
		return -ENOMEM;
	take_fd(&fd);
	return 0;
}

static int tell_keeper(const struct output_file *f, enum keeper_job job)
{
	const struct keeper_request request = { .job = job, .number = f->number };

	return keeper_ask(&request, -1, NULL, NULL);
}

/* ---- either way ------------------------------------------------------------------------------- */

/* "DIR/krait-aB3x9Z-NAME"; -ENOENT: there is no n-th place. */
static int choose_elsewhere(char ret[PATH_MAX], const char *path, unsigned n)
{
	const char *const places[OUTPUT_FILE_PLACES] = { secure_getenv("TMPDIR"), "/tmp",
							 "/var/tmp", "/dev/shm" };
	const char *base = strrchr(path, '/');
	char word[WORD + 1];
	int len;

	if (n >= OUTPUT_FILE_PLACES || !places[n])
		return -ENOENT;
	choose_word(word);
	len = snprintf(ret, PATH_MAX, "%s/krait-%s-%s", places[n], word, base ? base + 1 : path);
	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int open_how(struct output_file *f, const char *path, unsigned how)
{
	char elsewhere[PATH_MAX];
	int err = 0;

	if (keeper_is_there())
		return open_by_keeper(f, path, how);
	if (how >= OUTPUT_FILE_ELSEWHERE)
		err = choose_elsewhere(elsewhere, path, how - OUTPUT_FILE_ELSEWHERE);
	return err ? err : open_named(f, how >= OUTPUT_FILE_ELSEWHERE ? elsewhere : path);
}

int output_file__open(struct output_file **ret, const char *path, unsigned how)
{
	struct output_file *f = calloc(1, sizeof(*f));
	int err = 0;

	if (!f)
		return -ENOMEM;
	f->dir = -1;
	f->keep_old = how == OUTPUT_FILE_KEEP_OLD;
	if (!strcmp(path, "-"))
		use_stdout(f);
	else
		err = open_how(f, path, how);
	if (err)
		output_file__free(f);
	else
		*ret = f;
	return err;
}

void output_file__free(struct output_file *f)
{
	cleanup_sudo_user struct sudo_user_scope scope = { 0 };

	if (!f)
		return;
	if (f->stream && !f->is_stdout)
		fclose(f->stream);
	if (f->number)
		(void)tell_keeper(f, KEEPER_OUTPUT_DISCARD);
	if (!sudo_user_enter(&scope) && f->dir >= 0 && !f->published && *f->part)
		unlinkat(f->dir, f->part, 0);
	cleanup_close_(&f->dir);
	free(f);
}

const char *output_file_strerror(int err)
{
	if (err == -ELOOP)
		return "it is a symbolic link, which krait does not write through: name the file itself";
	if (err == -EPIPE)
		return "its reader has gone";
	return strerror(-err);
}

/* ---- what it is ------------------------------------------------------------------------------- */

FILE *output_file__stream(struct output_file *f)
{
	return f->stream;
}

bool output_file__is_stdout(const struct output_file *f)
{
	return f->is_stdout;
}

const char *output_file__name(const struct output_file *f)
{
	return *f->name ? f->name : NULL;
}

const char *output_file__kept_name(const struct output_file *f)
{
	return *f->kept ? f->kept : NULL;
}

bool output_file__is_published(const struct output_file *f)
{
	return f->published;
}

__u64 output_file__size(const struct output_file *f)
{
	return f->size;
}

bool output_file__is_deserted(const struct output_file *f)
{
	struct pollfd fd = { .fd = f->stream ? fileno(f->stream) : -1 };
	struct stat st;

	return !*f->name && fd.fd >= 0 && !fstat(fd.fd, &st) &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) && poll(&fd, 1, 0) == 1 &&
	       fd.revents & (POLLERR | POLLHUP);
}

/* ---- the end ---------------------------------------------------------------------------------- */

/* Gives an unnamed file a temporary name. */
static int give_part(struct output_file *f)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(f->stream));
	for (int i = 0; i < TRIES; i++) {
		choose_part(f);
		if (!linkat(AT_FDCWD, path, f->dir, f->part, AT_SYMLINK_FOLLOW))
			return 0;
		if (errno != EEXIST)
			break;
	}
	f->part[0] = '\0';
	return -errno;
}

int output_file__publish(struct output_file *f)
{
	cleanup_sudo_user struct sudo_user_scope scope = { 0 };
	char old[NAME_MAX + 1];
	int err, n;

	if (!*f->name || f->published)
		return 0;
	if (f->number) {
		err = tell_keeper(f, KEEPER_OUTPUT_PUBLISH);
		f->published = !err;
		return err;
	}
	err = sudo_user_enter(&scope);
	if (!err && !*f->part)
		err = give_part(f);
	if (err)
		return err;
	if (f->keep_old) {
		n = snprintf(old, sizeof(old), "%s" OLD, f->base);
		if (n >= (int)sizeof(old))
			return -ENAMETOOLONG;
		if (renameat(f->dir, f->base, f->dir, old) && errno != ENOENT)
			return -errno;
	}
	if (renameat(f->dir, f->part, f->dir, f->base))
		return -errno;
	f->published = true;
	return 0;
}

int output_file__finish(struct output_file *f)
{
	FILE *stream = f->stream;
	struct stat st;
	int err;

	if (!stream)
		return 0;
	err = stream_finish(stream);
	if (err)
		return err;
	err = output_file__publish(f);
	if (err || f->is_stdout)
		return err;
	f->stream = NULL;
	f->size = fstat(fileno(stream), &st) ? 0 : (__u64)st.st_size;
	errno = 0;
	return fclose(stream) ? stream_cause() : 0;
}
