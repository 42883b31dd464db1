/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "process/proc/proc.h"
#include "base/data/cleanup.h"

int maps_open_at(struct maps *ret, int dir)
{
	int fd = openat(dir, "maps", O_RDONLY | O_CLOEXEC);

	maps_open_fd(ret, fd);
	if (fd >= 0)
		return 0;
	if (errno == ENOENT)
		return -ESRCH;
	return errno == EPERM ? -EACCES : -errno;
}

int maps_open(struct maps *ret, pid_t pid)
{
	cleanup_close int dir = proc_open(pid);

	if (dir >= 0)
		return maps_open_at(ret, dir);
	maps_open_fd(ret, -1);
	return dir;
}

void maps_open_fd(struct maps *ret, int fd)
{
	ret->fd = fd;
	ret->eof = false;
	ret->skip = false;
	ret->pos = 0;
	ret->len = 0;
	ret->last = (struct maps_line){ 0 };
	ret->has_ahead = false;
}

void maps_close(struct maps *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

/* Reads digits of that base, up to and including the character end. */
static bool parse_number(char **p, unsigned base, char end, __u64 *ret)
{
	__u64 value = 0;
	char *s = *p;

	for (;; s++) {
		unsigned digit;

		if (*s >= '0' && *s <= '9')
			digit = (unsigned)(*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			digit = (unsigned)(*s - 'a') + 10;
		else
			break;
		if (digit >= base || value > (~0ULL - digit) / base)
			return false;
		value = value * base + digit;
	}
	/* A line without a name may end with its last number. */
	if (s == *p || (*s != end && !(end == ' ' && *s == '\0')))
		return false;
	*p = *s ? s + 1 : s;
	*ret = value;
	return true;
}

static bool parse_prot(char **p, __u32 *ret)
{
	static const char letters[] = "rwxs";
	const char *s = *p;

	*ret = 0;
	for (int i = 0; i < 4; i++) {
		if (s[i] == letters[i])
			*ret |= 1U << i;
		else if (s[i] != (i == 3 ? 'p' : '-'))
			return false;
	}
	if (s[4] != ' ')
		return false;
	*p += 5;
	return true;
}

static void unescape_newlines(char *path)
{
	char *from = strstr(path, "\\012"), *to = from;

	while (from && *from) {
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	if (to)
		*to = '\0';
}

static bool take_suffix(char *path, const char *suffix)
{
	size_t len = strlen(path), suffix_len = strlen(suffix);

	if (len <= suffix_len || strcmp(path + len - suffix_len, suffix) != 0)
		return false;
	path[len - suffix_len] = '\0';
	return true;
}

int maps_line_parse(char *line, size_t len, struct maps_line *ret)
{
	__u64 dev_major, dev_minor;
	struct maps_line m = { 0 };
	char *p = line;

	line[len] = '\0';
	if (!parse_number(&p, 16, '-', &m.start) || !parse_number(&p, 16, ' ', &m.end) ||
	    !parse_prot(&p, &m.prot) || !parse_number(&p, 16, ' ', &m.offset) ||
	    !parse_number(&p, 16, ':', &dev_major) || !parse_number(&p, 16, ' ', &dev_minor) ||
	    !parse_number(&p, 10, ' ', &m.inode))
		return -EINVAL;
	if (m.start >= m.end || dev_major > ~0U || dev_minor > ~0U)
		return -EINVAL;
	m.dev_major = (__u32)dev_major;
	m.dev_minor = (__u32)dev_minor;
	while (*p == ' ')
		p++;
	m.path = p;
	if (m.inode) {
		m.deleted = take_suffix(p, " (deleted)");
		unescape_newlines(p);
	}
	m.link_start = m.start;
	m.link_end = m.end;
	*ret = m;
	return 0;
}

/* Makes room and reads more. Returns 1 if something came, 0 at the end, or -errno. */
static int refill(struct maps *m)
{
	ssize_t n;

	if (m->eof)
		return 0;
	memmove(m->buf, m->buf + m->pos, m->len - m->pos);
	m->len -= m->pos;
	m->pos = 0;
	do {
		/* One byte stays free, to terminate a last line without a newline. */
		n = read(m->fd, m->buf + m->len, sizeof(m->buf) - 1 - m->len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	m->eof = n == 0;
	m->len += (size_t)n;
	return n > 0;
}

/* Drops the rest of a line that was too long to keep. */
static int skip_line(struct maps *m)
{
	int r = 1;

	while (r > 0) {
		char *newline = memchr(m->buf + m->pos, '\n', m->len - m->pos);

		if (newline) {
			m->pos = (size_t)(newline - m->buf) + 1;
			break;
		}
		m->pos = m->len;
		r = refill(m);
	}
	m->skip = false;
	return r < 0 ? r : 0;
}

/* Length of the line at m->pos, or of the part of it that is kept. 0 at the end, or -errno. */
static int next_line(struct maps *m, bool *ret_newline)
{
	for (;;) {
		size_t len = m->len - m->pos;
		char *newline = memchr(m->buf + m->pos, '\n', len);
		int r;

		if (newline)
			len = (size_t)(newline - (m->buf + m->pos));
		*ret_newline = newline && len < MAPS_LINE_MAX;
		if (newline || len >= MAPS_LINE_MAX)
			return (int)(len < MAPS_LINE_MAX ? len : MAPS_LINE_MAX);
		r = refill(m);
		if (r < 0)
			return r;
		if (r == 0)
			return (int)len;
	}
}

int maps_next(struct maps *m, struct maps_line *ret)
{
	struct maps_line mapping;
	bool newline;
	int len, r;

	r = m->skip ? skip_line(m) : 0;
	if (r)
		return r;
	len = next_line(m, &newline);
	if (len < 0 || (len == 0 && !newline))
		return len;
	/* A line that was cut ends at its last kept byte; reading the next one skips the rest. */
	m->skip = !newline && len == MAPS_LINE_MAX;
	r = maps_line_parse(m->buf + m->pos, (size_t)len - m->skip, &mapping);
	m->pos += (size_t)len + newline;
	if (r)
		return r;
	mapping.cut = m->skip;
	*ret = mapping;
	return 1;
}

/* ---- moved code -------------------------------------------------------------------------------- */

/* hugetlbfs has a file for anonymous memory. */
static bool is_anonymous(const struct maps_line *m)
{
	return !m->inode || (m->deleted && !strcmp(m->path, "/anon_hugepage"));
}

/* May it be the code of the file whose mapping ends where it begins? */
static bool may_be_moved(const struct maps_line *before, const struct maps_line *m)
{
	return m->prot & MAPPING_EXEC && is_anonymous(m) && before->inode &&
	       before->link_end == m->start;
}

/* Is it the next piece of moved code? */
static bool goes_on(const struct maps_line *moved, const struct maps_line *m)
{
	return m->start == moved->end && m->prot & MAPPING_EXEC && is_anonymous(m);
}

/* Does the file go on behind the code as it does if nothing is between? */
static bool encloses(const struct maps_line *before, const struct maps_line *moved,
		     const struct maps_line *behind)
{
	return behind->inode == before->inode && behind->dev_major == before->dev_major &&
	       behind->dev_minor == before->dev_minor && behind->start == moved->end &&
	       behind->start - behind->offset == before->start - before->offset;
}

int maps_next_code(struct maps *m, struct maps_line *ret)
{
	struct maps_line before = m->last;
	int r = m->has_ahead ? m->ahead_result : maps_next(m, ret);

	if (m->has_ahead)
		*ret = m->ahead;
	m->has_ahead = false;
	if (r <= 0)
		return r;
	m->last = *ret;
	if (!may_be_moved(&before, ret))
		return r;
	ret->path = ""; /* reading ahead overwrites it */
	m->has_ahead = true;
	do {
		m->ahead_result = maps_next(m, &m->ahead);
		if (m->ahead_result <= 0 || !goes_on(ret, &m->ahead))
			break;
		ret->end = m->ahead.end;
	} while (true);
	if (m->ahead_result <= 0 || !encloses(&before, ret, &m->ahead))
		return r;
	m->last = m->ahead;
	m->last.prot = ret->prot;
	m->last.start = ret->start;
	m->last.end = ret->end;
	m->last.offset = ret->start - (before.start - before.offset);
	*ret = m->last;
	return r;
}
