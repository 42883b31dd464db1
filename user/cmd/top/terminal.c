/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/terminal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <linux/types.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

#ifdef KRAIT_STATIC
#include "terminfo.h"
#endif

/* Longest pause between Esc and the rest of a key sequence. */
#define ESCAPE_MS 25
/* Bytes kept of what was written to stderr. */
#define MESSAGES_MAX 65536
#define ROW_BYTES_MAX 16384

struct terminal {
	SCREEN *screen;
	int messages, stderr_fd; /* a memory file; the original stderr */
	off_t seen; /* end of the messages seen */
	char more[8]; /* bytes of an incomplete character */
	bool colors;
};

bool terminal_suits(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

static bool is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* Chooses as setlocale() does. */
static const char *locale_name(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value)
			return value;
	}
	return "";
}

bool terminal_utf8(void)
{
	const char *name = locale_name();

#ifdef KRAIT_STATIC
	/* Locales on this machine may be of a version that this C library does not read. */
	setlocale(LC_CTYPE,
		  strcasestr(name, "utf-8") || strcasestr(name, "utf8") ? "C.UTF-8" : "C");
	return is_utf8();
#endif
	/* The locale is not installed here, but the terminal is what its name says. */
	if (!setlocale(LC_CTYPE, "") && (strcasestr(name, "utf-8") || strcasestr(name, "utf8")))
		setlocale(LC_CTYPE, "C.UTF-8");
	return is_utf8();
}

void terminal_hold_signals(bool hold)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGWINCH);
	sigaddset(&mask, SIGTSTP);
	sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &mask, NULL);
}

/* ---- stderr ----------------------------------------------------------------------------------- */

static int keep_messages(struct terminal *t)
{
	fflush(stderr);
	t->messages = memfd_create("krait-messages", MFD_CLOEXEC);
	if (t->messages < 0 || fcntl(t->messages, F_SETFL, O_APPEND))
		return -errno;
	t->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	/* stderr may be closed: then there is nothing to restore. */
	return dup2(t->messages, STDERR_FILENO) < 0 ? -errno : 0;
}

static void release_messages(struct terminal *t)
{
	char buf[4096];
	ssize_t n;

	fflush(stderr);
	if (t->stderr_fd >= 0) {
		dup2(t->stderr_fd, STDERR_FILENO);
		close(t->stderr_fd);
	}
	for (off_t at = 0; (n = pread(t->messages, buf, sizeof(buf), at)) > 0; at += n) {
		if (t->stderr_fd < 0 || write(STDERR_FILENO, buf, (size_t)n) != n)
			break;
	}
	if (t->messages >= 0)
		close(t->messages);
	t->messages = t->stderr_fd = -1;
}

/* Drops old messages: over hours only the newest matter. */
static void bound_messages(struct terminal *t, off_t size)
{
	static char kept[MESSAGES_MAX / 2];
	ssize_t n;

	if (size <= MESSAGES_MAX)
		return;
	n = pread(t->messages, kept, sizeof(kept), size - (off_t)sizeof(kept));
	if (n <= 0 || ftruncate(t->messages, 0))
		return;
	if (write(t->messages, kept, (size_t)n) == n)
		t->seen = n;
}

bool terminal__message(struct terminal *t, char *buf, size_t size)
{
	off_t end = lseek(t->messages, 0, SEEK_END), from;
	char text[4096], *line;
	ssize_t n;

	if (end <= t->seen)
		return false;
	from = end - t->seen > (off_t)sizeof(text) - 1 ? end - (off_t)sizeof(text) + 1 : t->seen;
	n = pread(t->messages, text, sizeof(text) - 1, from);
	t->seen = end;
	bound_messages(t, end);
	if (n <= 0)
		return false;
	text[n] = '\0';
	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	line = strrchr(text, '\n');
	snprintf(buf, size, "%s", line ? line + 1 : text);
	return true;
}

/* ---- life ------------------------------------------------------------------------------------- */

static void begin_colors(struct terminal *t)
{
	static const short colors[LOOK_CNT] = {
		[LOOK_HOT] = COLOR_RED,
		[LOOK_WARM] = COLOR_YELLOW,
		[LOOK_COOL] = COLOR_CYAN,
	};
	const char *no_color = getenv("NO_COLOR");

	if ((no_color && *no_color) || !has_colors() || start_color() == ERR)
		return;
	t->colors = true;
	use_default_colors();
	for (short i = 0; i < LOOK_CNT; i++) {
		if (colors[i])
			init_pair(i, colors[i], -1);
	}
}

/* What terminals really send, whatever TERM says: inside tmux it often names another terminal. */
static void define_keys(void)
{
	static const struct {
		const char *text;
		int key;
	} keys[] = {
		{ "\x1b[1~", KEY_HOME }, { "\x1b[4~", KEY_END }, { "\x1b[H", KEY_HOME },
		{ "\x1b[F", KEY_END },	 { "\x1bOH", KEY_HOME }, { "\x1bOF", KEY_END },
		{ "\x1b[A", KEY_UP },	 { "\x1b[B", KEY_DOWN }, { "\x1b[C", KEY_RIGHT },
		{ "\x1b[D", KEY_LEFT },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		define_key(keys[i].text, keys[i].key);
}

static SCREEN *new_screen(void)
{
	SCREEN *screen = newterm(NULL, stdout, stdin);

#ifdef KRAIT_STATIC
	/* Nothing here describes the terminal, so we do. Nearly all others behave as xterm does. */
	if (!screen) {
		bool console = !strncmp(getenv("TERM"), "linux", strlen("linux"));

		setenv("TERMINFO", console ? TERMINFO_LINUX : TERMINFO_XTERM, 1);
		screen = newterm(console ? "linux" : "xterm-256color", stdout, stdin);
	}
#endif
	return screen;
}

struct terminal *terminal__open(bool utf8)
{
	struct terminal *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->messages = t->stderr_fd = -1;
	t->screen = new_screen();
	if (!t->screen) {
		free(t);
		errno = ENOTTY;
		return NULL;
	}
	begin_colors(t);
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	define_keys();
	if (keep_messages(t)) {
		terminal__close(t);
		errno = ENOMEM;
		return NULL;
	}
	return t;
}

void terminal__take_all_keys(struct terminal *t)
{
	raw();
}

void terminal__close(struct terminal *t)
{
	if (!t)
		return;
	endwin();
	delscreen(t->screen);
	release_messages(t);
	free(t);
}

/* ---- keys ------------------------------------------------------------------------------------- */

int terminal__fd(const struct terminal *t)
{
	return STDIN_FILENO;
}

static int key_of(wint_t key)
{
	switch (key) {
	case KEY_UP:
		return KEY_OF_UP;
	case KEY_DOWN:
		return KEY_OF_DOWN;
	case KEY_LEFT:
		return KEY_OF_LEFT;
	case KEY_RIGHT:
		return KEY_OF_RIGHT;
	case KEY_PPAGE:
		return KEY_OF_PAGE_UP;
	case KEY_NPAGE:
		return KEY_OF_PAGE_DOWN;
	case KEY_HOME:
		return KEY_OF_HOME;
	case KEY_END:
		return KEY_OF_END;
	case KEY_ENTER:
		return KEY_OF_ENTER;
	case KEY_BACKSPACE:
		return KEY_OF_BACK;
	default:
		return key >= KEY_F(1) && key <= KEY_F(10) ? KEY_OF_F1 + (int)(key - KEY_F(1)) : 0;
	}
}

static int key_of_character(struct terminal *t, wint_t c)
{
	mbstate_t state = { 0 };
	char bytes[MB_LEN_MAX + 1] = "";
	size_t n;

	switch (c) {
	case '\r':
	case '\n':
		return KEY_OF_ENTER;
	case 0x7f:
	case '\b':
		return KEY_OF_BACK;
	case 0x1b:
		return KEY_OF_ESCAPE;
	default:
		break;
	}
	n = wcrtomb(bytes, (wchar_t)c, &state);
	if (!n || n >= sizeof(t->more))
		return 0;
	memcpy(t->more, bytes + 1, n);
	return (unsigned char)bytes[0];
}

static bool is_gone(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&fd, 1, 0) > 0 && fd.revents & (POLLHUP | POLLERR | POLLNVAL);
}

int terminal__key(struct terminal *t)
{
	wint_t c;
	int kind, key;

	if (*t->more) {
		key = (unsigned char)*t->more;
		memmove(t->more, t->more + 1, sizeof(t->more) - 1);
		return key;
	}
	kind = get_wch(&c);
	if (kind == ERR)
		return is_gone() ? TERMINAL_GONE : TERMINAL_NO_KEY;
	if (kind == KEY_CODE_YES && c == KEY_RESIZE)
		return 0;
	return kind == KEY_CODE_YES ? key_of(c) : key_of_character(t, c);
}

/* ---- screens ---------------------------------------------------------------------------------- */

void terminal__size(struct terminal *t, unsigned *ret_rows, unsigned *ret_columns)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col &&
	    is_term_resized(size.ws_row, size.ws_col))
		resizeterm(size.ws_row, size.ws_col);
	*ret_rows = LINES > 0 ? (unsigned)LINES : 1;
	*ret_columns = COLS > 0 ? (unsigned)COLS : 1;
}

static attr_t attributes_of(const struct terminal *t, const struct cell *c)
{
	static const attr_t looks[LOOK_CNT] = {
		[LOOK_HEAD] = A_REVERSE,
		[LOOK_BOLD] = A_BOLD,
		[LOOK_DIM] = A_DIM,
		[LOOK_HOT] = A_BOLD,
	};
	attr_t attributes = looks[c->look];

	if (c->selected)
		return A_REVERSE | (attributes & A_BOLD);
	if (t->colors && (c->look == LOOK_HOT || c->look == LOOK_WARM || c->look == LOOK_COOL))
		attributes |= (attr_t)COLOR_PAIR(c->look);
	return attributes;
}

static void show_row(const struct terminal *t, const struct screen *s, unsigned y)
{
	char text[ROW_BYTES_MAX];
	size_t len = 0;

	for (unsigned x = 0; x < s->columns; x++) {
		const struct cell *c = screen_at(s, y, x);
		size_t bytes = strlen(c->text);
		bool last = x + 1 == s->columns;

		if (!len)
			move((int)y, (int)x);
		memcpy(text + len, c->text, bytes);
		len += bytes;
		if (!last && attributes_of(t, c) == attributes_of(t, c + 1) &&
		    len + CELL_BYTES < sizeof(text))
			continue;
		text[len] = '\0';
		attrset((int)attributes_of(t, c));
		addstr(text);
		len = 0;
	}
}

void terminal__show(struct terminal *t, const struct screen *s)
{
	erase();
	for (unsigned y = 0; y < s->rows && (int)y < LINES; y++)
		show_row(t, s, y);
	attrset(A_NORMAL);
	refresh();
}

void terminal__redraw(struct terminal *t)
{
	clearok(curscr, TRUE);
}
