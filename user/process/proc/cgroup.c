/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc/cgroup.h"

#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>

#define ID_CHARS                                                                                   \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"                                     \
	"0123456789_.-"
/* Characters of systemd's names. */
#define UNIT_CHARS ID_CHARS ":@\\"

/* What precedes an id of 64 digits. A name that contains another one comes first. */
static const struct {
	const char *prefix, *runtime;
} runtimes[] = {
	{ "cri-containerd", "containerd" },
	{ "nerdctl", "containerd" },
	{ "docker", "docker" },
	{ "crio", "cri-o" },
	{ "libpod", "podman" },
};

/*
 * Takes the next line "NUMBER:CONTROLLERS:PATH" off *text. False at the end; a malformed line has
 * no path.
 */
static bool next_path(const char **text, const char **ret, size_t *ret_len)
{
	const char *line = *text, *end = strchrnul(line, '\n');
	const char *colon = memchr(line, ':', (size_t)(end - line));

	if (!*line)
		return false;
	if (colon)
		colon = memchr(colon + 1, ':', (size_t)(end - colon - 1));
	*ret = colon ? colon + 1 : end;
	*ret_len = (size_t)(end - *ret);
	*text = *end ? end + 1 : end;
	return true;
}

void cgroup_path(const char *text, char *ret, size_t size)
{
	const char *line = text, *path, *best = "";
	size_t len, best_len = 0;

	for (; next_path(&text, &path, &len); line = text) {
		bool second = !strncmp(line, "0::", 3);

		if ((second && len > 1) || len > best_len) {
			best = path;
			best_len = len;
		}
		if (second && len > 1)
			break;
	}
	if (size)
		snprintf(ret, size, "%.*s", (int)MIN(best_len, size), best);
}

static size_t length_without_slashes(const char *path)
{
	size_t len = strlen(path);

	while (len && path[len - 1] == '/')
		len--;
	return len;
}

bool cgroup_is_below(const char *text, const char *path)
{
	const char *found;
	size_t len, prefix_len;

	path += *path == '/';
	prefix_len = length_without_slashes(path);
	while (next_path(&text, &found, &len)) {
		if (len && *found == '/') {
			found++;
			len--;
		}
		if (len >= prefix_len && !memcmp(found, path, prefix_len) &&
		    (!prefix_len || len == prefix_len || found[prefix_len] == '/'))
			return true;
	}
	return false;
}

static bool is_folder(const char *parent, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/%s", parent, name) < (int)sizeof(path) &&
	       !stat(path, &st) && S_ISDIR(st.st_mode);
}

const char *cgroup_find(const char *name, const char *mounts)
{
	FILE *f = setmntent(mounts, "re");
	const char *inside = NULL, *found = NULL;
	size_t best = 0, cnt = 0;
	const struct mntent *m;

	while (f && (m = getmntent(f))) {
		size_t len = strlen(m->mnt_dir);

		if (strncmp(m->mnt_type, "cgroup", strlen("cgroup")))
			continue;
		cnt++;
		/* Take the innermost: /sys/fs/cgroup/unified may be inside /sys/fs/cgroup. */
		if (len > best && !strncmp(name, m->mnt_dir, len) &&
		    (!name[len] || name[len] == '/')) {
			best = len;
			inside = is_folder(name, "") ? name + len : NULL;
		}
		if (is_folder(m->mnt_dir, name))
			found = name;
	}
	if (f)
		endmntent(f);
	if (!cnt)
		return name;
	return best ? inside : found;
}

static bool is_hex(const char *s, size_t len)
{
	return strspn(s, "0123456789abcdef") >= len;
}

static bool has_prefix(const char *s, size_t len, const char *prefix)
{
	size_t prefix_len = strlen(prefix);

	return len >= prefix_len && !memcmp(s, prefix, prefix_len);
}

static void take_id(struct container *ret, const char *runtime, const char *id, size_t len)
{
	if (!len || len >= sizeof(ret->id) || strspn(id, ID_CHARS) < len)
		return;
	memcpy(ret->id, id, len);
	ret->id[len] = '\0';
	ret->runtime = runtime;
}

/* An id of 64 digits at the end of a name, such as docker-ID.scope, x.slice:cri-containerd:ID, ID. */
static void hex_id(const char *name, size_t len, const char *parents, struct container *ret)
{
	const char *runtime = "container", *id, *slice;

	if (len > 6 && !memcmp(name + len - 6, ".scope", 6))
		len -= 6;
	if (len < 64 || !is_hex(name + len - 64, 64))
		return;
	id = name + len - 64;
	if (id == name) {
		if (strstr(parents, "docker"))
			runtime = "docker";
		else if (strstr(parents, "libpod"))
			runtime = "podman";
		take_id(ret, runtime, id, 64);
		return;
	}
	if (id[-1] != '-' && id[-1] != ':')
		return;
	slice = memrchr(name, ':', (size_t)(id - name - 1));
	if (slice)
		name = slice + 1;
	/* A container's monitor is not in the container. */
	if (memmem(name, (size_t)(id - name), "conmon", 6))
		return;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		if (has_prefix(name, (size_t)(id - name), runtimes[i].prefix)) {
			runtime = runtimes[i].runtime;
			break;
		}
	}
	take_id(ret, runtime, id, 64);
}

/* lxc.payload.NAME, /lxc/NAME */
static void lxc_name(const char *name, size_t len, const char *path, struct container *ret)
{
	static const char payload[] = "lxc.payload.";

	if (has_prefix(name, len, payload))
		take_id(ret, "lxc", name + sizeof(payload) - 1, len - (sizeof(payload) - 1));
	else if (name - path >= 5 && !memcmp(name - 5, "/lxc/", 5))
		take_id(ret, "lxc", name, len);
}

void container_of_cgroup(const char *path, struct container *ret)
{
	const char *name = path, *end;

	*ret = (struct container){ .runtime = "" };
	/* From the outside inwards; the last one counts. */
	while (*name) {
		end = strchrnul(name, '/');
		hex_id(name, (size_t)(end - name), path, ret);
		lxc_name(name, (size_t)(end - name), path, ret);
		name = *end ? end + 1 : end;
	}
}

static bool has_suffix(const char *s, size_t len, const char *suffix)
{
	size_t suffix_len = strlen(suffix);

	return len > suffix_len && !memcmp(s + len - suffix_len, suffix, suffix_len);
}

void unit_of_cgroup(const char *path, char *ret, size_t size)
{
	const char *name = path, *end;

	*ret = '\0';
	while (*name) {
		size_t len;

		end = strchrnul(name, '/');
		len = (size_t)(end - name);
		if (len < size && has_suffix(name, len, ".service") &&
		    !has_prefix(name, len, "user@") && strspn(name, UNIT_CHARS) >= len)
			snprintf(ret, size, "%.*s", (int)len, name);
		name = *end ? end + 1 : end;
	}
}

/* The uid in "pod0a1b...", after the driver's prefix, if any: "kubepods-burstable-pod...slice". */
static bool take_pod(const char *name, size_t len, char *ret, size_t size)
{
	const char *pod = memmem(name, len, "pod", 3), *next;

	/* "kubepods" contains "pod", too. */
	while (pod && (next = memmem(pod + 1, len - (size_t)(pod + 1 - name), "pod", 3)))
		pod = next;
	if (!pod || (pod > name && pod[-1] != '-'))
		return false;
	len -= (size_t)(pod + 3 - name);
	if (has_suffix(pod + 3, len, ".slice"))
		len -= strlen(".slice");
	if ((len != 32 && len != 36) || len >= size || strspn(pod + 3, "0123456789abcdef-_") < len)
		return false;
	for (size_t i = 0; i < len; i++)
		ret[i] = pod[3 + i] == '_' ? '-' : pod[3 + i];
	ret[len] = '\0';
	return true;
}

void pod_of_cgroup(const char *path, char *ret, size_t size)
{
	const char *name = path, *end;

	*ret = '\0';
	if (!strstr(path, "kubepods"))
		return;
	while (*name) {
		end = strchrnul(name, '/');
		if (take_pod(name, (size_t)(end - name), ret, size))
			return;
		name = *end ? end + 1 : end;
	}
}

/* Version 1 says this much if there is no limit; PAGE_COUNTER_MAX in the kernel's page_counter.h. */
#define NO_LIMIT (1ULL << 60)

static unsigned long long limit_in(const char *mount, const char *path, const char *name)
{
	unsigned long long bytes = 0;
	char file[PATH_MAX];
	FILE *f;

	if (snprintf(file, sizeof(file), "%s%s/%s", mount, path, name) >= (int)sizeof(file))
		return 0;
	f = fopen(file, "re");
	/* "max": none. */
	if (f && fscanf(f, "%llu", &bytes) != 1)
		bytes = 0;
	if (f)
		fclose(f);
	return bytes < NO_LIMIT ? bytes : 0;
}

unsigned long long cgroup_memory_limit(const char *text, const char *mount, char *ret, size_t size)
{
	unsigned long long least = 0;
	const char *line = text, *path;
	char group[PATH_MAX], folder[PATH_MAX], *slash;
	size_t len;

	for (; next_path(&text, &path, &len); line = text) {
		const bool second = !strncmp(line, "0::", 3);
		const char *controller = memmem(line, (size_t)(path - line), ":memory:", 8);

		if ((!second && !controller) || len >= sizeof(group))
			continue;
		snprintf(folder, sizeof(folder), "%s%s", mount, second ? "" : "/memory");
		snprintf(group, sizeof(group), "%.*s", (int)len, path);
		do {
			unsigned long long bytes = limit_in(
				folder, group, second ? "memory.max" : "memory.limit_in_bytes");

			if (bytes && (!least || bytes < least)) {
				least = bytes;
				snprintf(ret, size, "%s", *group ? group : "/");
			}
			slash = strrchr(group, '/');
			if (slash)
				*slash = '\0';
		} while (slash);
	}
	return least;
}
