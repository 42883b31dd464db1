/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_kernel_maps.c - /proc/modules, and a capture's records of modules.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/perfdata/kernel_maps.h"
#include "process/space/mapping.h"
#include "capture/perfdata/perf_reader.h"
#include "capture/perfdata/perf_writer.h"
#include "base/system/error.h"

static const char text[] = "virtio_net 98304 0 - Live 0xffffffffc0b00000\n"
			   "net_failover 24576 1 virtio_net, Live 0xffffffffc0a80000 (E)\n"
			   "hidden 4096 0 - Live 0x0000000000000000\n"
			   "leaving 4096 0 - Unloading 0xffffffffc0c00000\n"
			   "coming 4096 0 - Loading 0xffffffffc0d00000\n"
			   "empty 0 0 - Live 0xffffffffc0e00000\n"
			   "no line at all\n"
			   "wraps 8192 0 - Live 0xffffffffffffff00\n"
			   "\n"
			   "ext4 1130496 1 - Live 0xffffffffc0400000 (POE)\n";

static int read_text(struct kernel_module **ret, const char *content)
{
	char path[] = "/tmp/krait-test-XXXXXX";
	int fd = mkstemp(path), cnt;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	close(fd);
	cnt = kernel_modules_read(ret, path);
	unlink(path);
	return cnt;
}

static void live_modules_with_addresses_are_found(void **state)
{
	struct kernel_module *list;

	assert_int_equal(read_text(&list, text), 3);
	assert_string_equal(list[0].name, "[virtio_net]");
	assert_int_equal(list[0].start, 0xffffffffc0b00000);
	assert_int_equal(list[0].size, 98304);
	assert_string_equal(list[1].name, "[net_failover]");
	assert_string_equal(list[2].name, "[ext4]");
	assert_int_equal(list[2].start, 0xffffffffc0400000);
	free(list);
	assert_int_equal(read_text(&list, ""), 0);
	free(list);
	assert_int_equal(kernel_modules_read(&list, "/nowhere/modules"), -ENOENT);
}

static void many_modules_are_kept_in_order(void **state)
{
	struct kernel_module *list;
	char *content;
	size_t size;
	FILE *f = open_memstream(&content, &size);

	for (int i = 0; i < KERNEL_MODULES_MAX + 10; i++)
		fprintf(f, "m%d 4096 0 - Live 0xffffffffc%07x\n", i, i * 4096);
	fclose(f);
	assert_int_equal(read_text(&list, content), KERNEL_MODULES_MAX);
	assert_string_equal(list[KERNEL_MODULES_MAX - 1].name, "[m4095]");
	free(list);
	free(content);
}

/* As mappings of the kernel, not of a process, with their addresses. */
static void a_capture_has_them_as_mappings_of_the_kernel(void **state)
{
	struct event_spec event;
	const struct recording unknown = { 0 };
	const struct perf_writer_config config = { .events = &event,
						   .event_cnt = 1,
						   .recording = &unknown };
	const struct mapping module = { .start = 0xffffffffc0400000, .end = 0xffffffffc0401000 };
	FILE *f = tmpfile();
	struct perf_writer *w;
	struct perf_reader *r;
	struct perf_read read;
	struct error err;

	event_default(&event);
	event.frequency = 99;
	assert_non_null(f);
	assert_int_equal(perf_writer__new(&w, f, &config), 0);
	assert_int_equal(perf_writer__kernel(w, &module, "[ext4]"), 0);
	assert_int_equal(perf_writer__finish(w, NULL, 0), 0);
	perf_writer__free(w);
	rewind(f);
	assert_int_equal(perf_reader__open(&r, f, "x", &err), 0);
	assert_int_equal(perf_reader__next(r, &read), 1);
	assert_int_equal(read.kind, PERF_READ_MAPPING);
	assert_true(read.in_kernel);
	assert_int_equal(read.pid, -1);
	assert_int_equal(read.start, module.start);
	assert_int_equal(read.size, 4096);
	assert_string_equal(read.text, "[ext4]");
	assert_int_equal(perf_reader__next(r, &read), 0);
	perf_reader__free(r);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_modules_with_addresses_are_found),
		cmocka_unit_test(many_modules_are_kept_in_order),
		cmocka_unit_test(a_capture_has_them_as_mappings_of_the_kernel),
	};

	return cmocka_run_group_tests_name("capture/perfdata/kernel_maps", tests, NULL, NULL);
}
