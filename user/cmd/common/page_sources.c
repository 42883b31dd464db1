/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/common/page_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/source_lookup.h"
#include "cmd/common/arguments.h"
#include "cmd/common/printed.h"
#include "cmd/common/source_reader.h"
#include "base/data/cleanup.h"
#include "base/files/sudo_user.h"
#include "base/system/clock.h"
#include "base/text/log.h"
#include "base/worker/keeper.h"

#define ONE_MS 500
#define ALL_NS (5 * NS_PER_SEC)

static int read_source(void *ctx, const struct dict *dict, __u32 file, char **ret)
{
	struct page_sources *s = ctx;
	__u64 now_ns = clock_monotonic_ns();

	if (!s->apart)
		return source_lookup(ret, NULL, dict, file, s->folder, true);
	if (!s->until_ns)
		s->until_ns = now_ns + ALL_NS;
	if (now_ns >= s->until_ns)
		return -ETIMEDOUT;
	return source_read_apart(ret, dict, file, s->folder, ONE_MS);
}

void page_sources_offer(struct page_sources *s, struct emit_options *options)
{
	options->source = read_source;
	options->source_ctx = s;
}

/* ---- an editor -------------------------------------------------------------------------------- */

/* The page refuses such links, too: they would run in the page itself (flamegraph_text.js). */
static bool is_editor_address(const char *text)
{
	static const char *const refused[] = { "javascript", "data", "vbscript", "blob", "file" };
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+.-");

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (!strncmp(text, refused[i], strlen(refused[i])))
			return false;
	return *text >= 'a' && *text <= 'z' && !strncmp(text + len, "://", 3) &&
	       strstr(text, "{file}");
}

const char *page_editor(const char *arg, const struct argp_state *state)
{
	if (!strcmp(arg, "vscode"))
		return "vscode://file{file}:{line}";
	if (!strcmp(arg, "idea"))
		return "idea://open?file={file}&line={line}";
	if (!is_editor_address(arg))
		arguments_refuse(state,
				 "--editor takes vscode, idea, or an address such as "
				 "\"myeditor://open?file={file}&line={line}\", not \"%s\"",
				 arg);
	return arg;
}

/* ---- a browser -------------------------------------------------------------------------------- */

void page_must_be_among(const char *const *paths, unsigned cnt, const struct argp_state *state)
{
	for (unsigned i = 0; i < cnt; i++)
		if (printed_is_page(paths[i]))
			return;
	arguments_refuse(state, "--open shows a page: give -o FILE.html, too");
}

static void set_if_there(const char *name, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void set_if_there(const char *name, const char *fmt, ...)
{
	char value[PATH_MAX];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	if (n > 0 && (size_t)n < sizeof(value) && !access(strchr(value, '/'), F_OK))
		setenv(name, value, 0);
}

/* What sudo leaves out of the environment, where it can be told. Called with the user's rights. */
static void find_session(void)
{
	const unsigned uid = getuid();
	char home[PATH_MAX];

	if (!sudo_user_home(home, sizeof(home))) {
		setenv("HOME", home, 1);
		set_if_there("XAUTHORITY", "%s/.Xauthority", home);
	}
	set_if_there("XDG_RUNTIME_DIR", "/run/user/%u", uid);
	set_if_there("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/%u/bus", uid);
	if (!getenv("DISPLAY") && !access("/tmp/.X11-unix/X0", F_OK))
		setenv("DISPLAY", ":0", 1);
	if (getenv("XDG_RUNTIME_DIR") && !getenv("WAYLAND_DISPLAY")) {
		snprintf(home, sizeof(home), "/run/user/%u/wayland-0", uid);
		if (!access(home, F_OK))
			setenv("WAYLAND_DISPLAY", "wayland-0", 1);
	}
}

/* The browser outlives krait. The pipe says why there is none; it closes when there is one. */
static _Noreturn void be_browser(const char *path, int fd)
{
	const struct sched_param ordinary = { 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), err;

	if (fork())
		_exit(0);
	sched_setscheduler(0, SCHED_OTHER, &ordinary);
	err = sudo_user_become();
	if (!err) {
		find_session();
		setsid();
		for (int i = 0; i < 3; i++)
			dup2(null, i);
		execlp("xdg-open", "xdg-open", path, NULL);
		err = -errno;
	}
	if (write(fd, &err, sizeof(err)) < 0)
		_exit(1);
	_exit(1);
}

static void open_one(const char *path)
{
	cleanup_free char *whole = realpath(path, NULL);
	int fds[2], err = 0;
	pid_t child;

	if (keeper_is_there()) {
		keeper_ask_about(KEEPER_BROWSER, path);
		return;
	}
	if (!whole || pipe2(fds, O_CLOEXEC))
		return;
	child = fork();
	if (!child)
		be_browser(whole, fds[1]);
	close(fds[1]);
	if (child < 0)
		err = -errno;
	else if (read(fds[0], &err, sizeof(err)) < 0)
		err = -EIO;
	close(fds[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	if (err)
		log_warn(NULL, "no browser: %s; open %s yourself",
			 err == -ENOENT ? "xdg-open is not installed (Debian package xdg-utils)" :
					  strerror(-err),
			 whole);
}

void page_open(const char *const *paths, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++)
		if (printed_is_page(paths[i]))
			open_one(paths[i]);
}
