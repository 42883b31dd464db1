/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_unwind.c - the unwinder at every instruction of real programs: in libc, libcrypto, and the
 * interpreters.
 */
#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "support_pythons.h"
#include "support_stepper.h"

/* Per program; KRAIT_FULL=1 takes all of them. */
#define STEPS (getenv("KRAIT_FULL") ? 10000000 : 25000)

/* ---- libc ------------------------------------------------------------------------------------- */

static int compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static volatile int sink;

static void use_libc(void *arg)
{
	int list[64];
	char text[128];
	regex_t re;
	struct timespec ts;

	raise(SIGSTOP);
	for (int i = 0; i < 64; i++)
		list[i] = i * 7919 % 64;
	qsort(list, 64, sizeof(list[0]), compare_ints);
	snprintf(text, sizeof(text), "%d %s %.3f %Lf", list[3], "text", 3.25, (long double)1.5);
	sink = (int)strtod(text, NULL);
	if (!regcomp(&re, "([a-z]+) [0-9]+(\\.[0-9]*)?", REG_EXTENDED)) {
		sink += regexec(&re, text, 0, NULL, 0);
		regfree(&re);
	}
	clock_gettime(CLOCK_MONOTONIC, &ts);
	setlocale(LC_ALL, "C");
	sink += (int)strlen(text) + (int)(memchr(text, 'x', sizeof(text)) != NULL);
	raise(SIGSTOP);
}

static void every_instruction_in_libc(void **state)
{
	struct stepper s;

	stepper_begin(&s, stepper_start(use_libc, NULL));
	stepper_go(&s, STEPS);
	stepper_end(&s, "libc");
	stepper_check(&s, 10000);
}

/* ---- threads and children -------------------------------------------------------------------------- */

static void *be_thread(void *arg)
{
	return arg;
}

/* clone3() and clone(): there are no unwind entries after their system calls. */
static void use_clones(void *arg)
{
	char *const argv[] = { (char *)"true", NULL };
	pthread_t thread;
	pid_t child;

	raise(SIGSTOP);
	if (!pthread_create(&thread, NULL, be_thread, NULL))
		pthread_join(thread, NULL);
	if (!posix_spawn(&child, "/bin/true", NULL, NULL, argv, NULL))
		waitpid(child, NULL, 0);
	raise(SIGSTOP);
}

static void every_instruction_in_clones(void **state)
{
	struct stepper s;

	stepper_begin(&s, stepper_start(use_clones, NULL));
	stepper_go(&s, STEPS);
	stepper_end(&s, "clones");
	stepper_check(&s, 300);
}

/* ---- libcrypto -------------------------------------------------------------------------------- */

static void use_libcrypto(void *arg)
{
	void *lib = dlopen("libcrypto.so.3", RTLD_NOW);
	unsigned char *(*sha256)(const void *, size_t, unsigned char *) =
		lib ? dlsym(lib, "SHA256") : NULL;
	unsigned char *(*sha1)(const void *, size_t, unsigned char *) = lib ? dlsym(lib, "SHA1") :
									      NULL;
	unsigned char *(*sha512)(const void *, size_t, unsigned char *) =
		lib ? dlsym(lib, "SHA512") : NULL;
	/* Some blocks of each, so that a function is stepped through to its end. */
	static unsigned char data[512], out[64];

	if (sha1)
		sha1(data, 64, out);
	raise(SIGSTOP);
	if (sha256 && sha1 && sha512) {
		sha1(data, sizeof(data), out);
		sha256(data, sizeof(data), out);
		sha512(data, sizeof(data), out);
	}
	raise(SIGSTOP);
}

/*
 * AES-GCM: on a machine with exactly what it needs (AVX without AVX-512), its function finds its
 * frame through rax, even during calls.
 */
static void use_gcm(void *arg)
{
	void *lib = dlopen("libcrypto.so.3", RTLD_NOW);
	void *(*make)(void) = lib ? dlsym(lib, "EVP_CIPHER_CTX_new") : NULL;
	const void *(*cipher)(void) = lib ? dlsym(lib, "EVP_aes_256_gcm") : NULL;
	int (*init)(void *, const void *, void *, const void *, const void *) =
		lib ? dlsym(lib, "EVP_EncryptInit_ex") : NULL;
	int (*update)(void *, void *, int *, const void *, int) =
		lib ? dlsym(lib, "EVP_EncryptUpdate") : NULL;
	/* Several rounds of six blocks, which is what the loop takes at a time. */
	static unsigned char data[1 << 10], out[1 << 10], key[32];
	void *context = make ? make() : NULL;
	bool ready = context && cipher && init && update && init(context, cipher(), NULL, key, key);
	int len;

	if (ready)
		update(context, out, &len, data, sizeof(data));
	raise(SIGSTOP);
	if (ready)
		update(context, out, &len, data, sizeof(data));
	raise(SIGSTOP);
}

static void every_instruction_in_gcm(void **state)
{
	struct stepper s;

	stepper_begin(&s, stepper_start(use_gcm, NULL));
	stepper_go(&s, STEPS);
	stepper_end(&s, "AES-GCM");
	stepper_check(&s, 0);
}

static void every_instruction_in_libcrypto(void **state)
{
	struct stepper s;

	stepper_begin(&s, stepper_start(use_libcrypto, NULL));
	stepper_go(&s, STEPS);
	stepper_end(&s, "libcrypto");
	stepper_check(&s, 0);
}

/* ---- interpreters ----------------------------------------------------------------------------- */

/* Number of places in each program, chosen by the clock, at which so many instructions are stepped. */
#define PLACES (getenv("KRAIT_FULL") ? 300 : 12)
#define STEPS_AT_PLACE (getenv("KRAIT_FULL") ? 3000 : 250)
#define PYTHONS_MAX 32

static const char python_work[] =
	"import os, signal, sys\n"
	"sys.path[:0] = [p for p in sys.path if 'dynload' in p]\n"
	"try:\n"
	"    import json, re, zlib\n"
	"except ImportError:\n"
	"    json = re = zlib = None\n"
	"def callback(x):\n"
	"    return -hash((x, str(x), 1.5 * hash(x)))\n"
	"def generate(n):\n"
	"    for i in range(n):\n"
	"        try:\n"
	"            yield i if i % 3 else int('x')\n"
	"        except ValueError as error:\n"
	"            yield len(error.args)\n"
	"class Thing:\n"
	"    __slots__ = ('a',)\n"
	"    def __lt__(self, other):\n"
	"        return callback(self.a) < callback(other.a)\n"
	"    def __init__(self, a):\n"
	"        self.a = a\n"
	"    def __del__(self):\n"
	"        self.a = None\n"
	"def work():\n"
	"    sorted(range(20), key=callback)\n"
	"    sorted([Thing(i) for i in generate(9)])\n"
	"    [x for x in map(callback, generate(30)) if x in {1: 2}]\n"
	"    ('%d %s %r' % (3, 'x' * 40, [1.25, {}])).encode().decode().split()\n"
	"    pow(3, 1000, 10 ** 50), 7 ** 300 // 3 ** 100\n"
	"    type('T', (Thing,), {'b': property(callback)})(3).b\n"
	"    exec(compile('def f(x):\\n    return [i for i in range(x)]\\nf(9)', 'x', 'exec'), {})\n"
	"    if json:\n"
	"        json.loads(json.dumps({'a': [1, 2, {'b': None}]}), object_hook=callback_of_dict)\n"
	"        re.sub('[a-f]+', lambda m: m.group().upper(), 'abcxyzdef' * 3)\n"
	"        zlib.compress(bytes(range(256)) * 4)\n"
	"def callback_of_dict(d):\n"
	"    return callback(len(d))\n"
	"work()\n"
	"os.kill(os.getpid(), signal.SIGSTOP)\n"
	"while True:\n"
	"    work()\n";

static void be_python(void *arg)
{
	const struct python *p = arg;

	if (chroot(p->root) || chdir("/"))
		_exit(1);
	execl(p->path, p->path, "-B", "-I", "-S", "-c", python_work, (char *)NULL);
	_exit(1);
}

static void step_python(struct python *p)
{
	struct stepper s;
	char what[64];

	snprintf(what, sizeof(what), "%s %s", p->version, p->kind);
	stepper_begin(&s, stepper_start(be_python, p));
	for (int i = 0; i < PLACES; i++) {
		stepper_run(&s, 100 + (unsigned)random() % 2000);
		stepper_go(&s, s.steps + (size_t)STEPS_AT_PLACE);
	}
	stepper_end(&s, what);
	stepper_check(&s, (size_t)PLACES * (size_t)STEPS_AT_PLACE / 2);
}

static void every_instruction_in_interpreters(void **state)
{
	static struct python pythons[PYTHONS_MAX];
	size_t cnt = pythons_find(pythons, PYTHONS_MAX, 8);

	for (size_t i = 0; i < cnt; i++)
		step_python(&pythons[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction_in_libc),
		cmocka_unit_test(every_instruction_in_clones),
		cmocka_unit_test(every_instruction_in_libcrypto),
		cmocka_unit_test(every_instruction_in_gcm),
		cmocka_unit_test(every_instruction_in_interpreters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
