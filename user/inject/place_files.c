/* SPDX-License-Identifier: BSD-2-Clause */
#include "inject/place_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"

#define SCRIPT "script"
#define REPORT "report"

extern const char inject_wrapper[], inject_wrapper_end[];
__asm__(".pushsection .rodata\ninject_wrapper:\n.incbin \"" KRAIT_SRCDIR
	"/user/inject/wrapper.py\"\ninject_wrapper_end:\n.byte 0\n.popsection\n");

/* Writes arbitrary bytes as a Python literal with exactly that value. */
static void put_bytes(FILE *out, const char *bytes, size_t len)
{
	fputs("b\"", out);
	for (size_t i = 0; i < len; i++)
		fprintf(out, "\\x%02x", (unsigned char)bytes[i]);
	fputc('"', out);
}

static FILE *create(int folder, const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !out)
		close(fd);
	return out;
}

static int finish(FILE *out)
{
	int failed = ferror(out);

	return fclose(out) || failed ? -EIO : 0;
}

static int make_run(int folder, const char *path, const struct inject_request *r)
{
	FILE *out = create(folder, PLACE_RUN);
	size_t folder_len = strlen(path) - strlen("/" PLACE_RUN);

	if (!out)
		return -errno;
	fputs("KRAIT = (", out);
	put_bytes(out, path, folder_len);
	fputs(", ", out);
	put_bytes(out, r->name, strnlen(r->name, sizeof(r->name)));
	fprintf(out, ".decode(\"utf-8\", \"replace\"), %s)\n", r->capture ? "True" : "False");
	fwrite(inject_wrapper, 1, (size_t)(inject_wrapper_end - inject_wrapper), out);
	return finish(out);
}

static int copy_script(int folder, int script)
{
	FILE *out = create(folder, SCRIPT);
	char buf[65536];
	size_t total = 0;
	ssize_t n;

	if (!out)
		return -errno;
	while ((n = pread(script, buf, sizeof(buf), (off_t)total)) > 0) {
		total += (size_t)n;
		if (total > INJECT_SCRIPT_MAX || fwrite(buf, 1, (size_t)n, out) != (size_t)n)
			break;
	}
	if (n < 0) {
		n = -errno;
		fclose(out);
		return (int)n;
	}
	n = finish(out);
	return total > INJECT_SCRIPT_MAX ? -EFBIG : (int)n;
}

/* Another process with this user's rights may have replaced it meanwhile. */
static int make_report(int folder)
{
	struct stat st;
	int fd;

	if (mkfifoat(folder, REPORT, 0600))
		return -errno;
	fd = openat(folder, REPORT, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && S_ISFIFO(st.st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	return -EPERM;
}

int place_files_make(int folder, const char *path, const struct inject_request *r, int script,
		     int *ret_report)
{
	int err = copy_script(folder, script);

	if (!err)
		err = make_run(folder, path, r);
	if (err)
		return err;
	*ret_report = make_report(folder);
	return *ret_report < 0 ? *ret_report : 0;
}

void place_files_remove(int parent, int folder, const char *path)
{
	char name[64];
	const char *end = strrchr(path, '/'),
		   *begin = end ? memrchr(path, '/', (size_t)(end - path)) : NULL;

	unlinkat(folder, PLACE_RUN, 0);
	unlinkat(folder, SCRIPT, 0);
	unlinkat(folder, REPORT, 0);
	if (!begin || end - begin > (int)sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(end - begin - 1), begin + 1);
	unlinkat(parent, name, AT_REMOVEDIR);
}
