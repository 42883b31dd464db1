/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_source_file.c - which source files are shown, according to the ids of those who ran them,
 * and how those ids are kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "output/source_file.h"
#include "support_folder.h"

static const struct identity root = { .pid = 1 };
static const struct identity member = {
	.pid = 2, .uid = 61001, .gid = 61001, .group_cnt = 1, .groups = { 61005 }
};
static const struct identity stranger = { .pid = 3, .uid = 61002, .gid = 61002 };

struct tree {
	char path[64], folder[80], file[96], link[96];
};

/* A folder and a file in it, of one user and group. */
static void tree_make(struct tree *t, mode_t folder_mode, mode_t file_mode)
{
	FILE *f;

	test_folder_make(t->path);
	assert_int_equal(chmod(t->path, 0755), 0);
	snprintf(t->folder, sizeof(t->folder), "%s/folder", t->path);
	snprintf(t->file, sizeof(t->file), "%s/x.py", t->folder);
	snprintf(t->link, sizeof(t->link), "%s/link.py", t->path);
	assert_int_equal(mkdir(t->folder, 0700), 0);
	f = fopen(t->file, "w");
	assert_non_null(f);
	fputs("text", f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(symlink("folder/../folder/./x.py", t->link), 0);
	assert_int_equal(chmod(t->file, file_mode), 0);
	assert_int_equal(chmod(t->folder, folder_mode), 0);
	assert_int_equal(chown(t->file, 61001, 61005), 0);
	assert_int_equal(chown(t->folder, 61001, 61005), 0);
}

static void tree_remove(struct tree *t)
{
	test_folder_remove(t->path);
}

static int try(const char *path, const struct identity *who)
{
	char *text = NULL;
	int err = source_file_read(&text, path, who);

	if (!err)
		assert_string_equal(text, "text");
	free(text);
	return err;
}

/* False: the file system has no such lists. It shuts 61002 out, and lets the group and others read and enter. */
static bool set_acl(const char *path)
{
	/* struct posix_acl_xattr_header and _entry (linux/posix_acl_xattr.h); little-endian. */
	static const struct {
		__u32 version;
		struct {
			__u16 tag, perm;
			__u32 id;
		} list[5];
	} acl = { 2,
		  { { 0x01, 7, -1U },
		    { 0x02, 0, 61002 },
		    { 0x04, 0, -1U },
		    { 0x10, 5, -1U },
		    { 0x20, 5, -1U } } };

	if (!setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0))
		return true;
	assert_int_equal(errno, EOPNOTSUPP);
	return false;
}

static void what_has_an_acl_is_its_owners(void **state)
{
	for (int i = 0; i < 2; i++) {
		const struct identity in_group = { .pid = 4, .uid = 61003, .gid = 61005 };
		struct stat st;
		struct tree t;

		tree_make(&t, 0755, 0644);
		assert_int_equal(try(t.file, &stranger), 0);
		assert_int_equal(try(t.file, &in_group), 0);
		if (getuid() || !set_acl(i ? t.folder : t.file)) {
			tree_remove(&t);
			return;
		}
		/* These bits say that both may: it is the mask that stands for the group's, which has none. */
		assert_int_equal(stat(i ? t.folder : t.file, &st), 0);
		assert_int_equal(st.st_mode & 077, 055);
		assert_int_equal(try(t.file, &stranger), -EACCES);
		assert_int_equal(try(t.file, &in_group), -EACCES);
		assert_int_equal(try(t.file, NULL), -EACCES);
		assert_int_equal(try(t.file, &member), 0);
		assert_int_equal(try(t.file, &root), 0);
		tree_remove(&t);
	}
}

static void what_the_ids_allow_is_shown(void **state)
{
	static const struct {
		mode_t folder, file;
		int root, member, stranger, unknown;
	} cases[] = {
		{ 0755, 0644, 0, 0, 0, 0 },
		{ 0755, 0600, 0, 0, -EACCES, -EACCES },
		{ 0700, 0644, 0, 0, -EACCES, -EACCES },
		{ 0711, 0644, 0, 0, 0, 0 },
		/* For the owner only the owner's bits count, even if others have more rights. */
		{ 0755, 0044, 0, -EACCES, 0, 0 },
		{ 0655, 0644, 0, -EACCES, 0, 0 },
	};
	struct tree t;

	if (geteuid())
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tree_make(&t, cases[i].folder, cases[i].file);
		for (int k = 0; k < 2; k++) {
			const char *path = k ? t.link : t.file;

			assert_int_equal(try(path, &root), cases[i].root);
			assert_int_equal(try(path, &member), cases[i].member);
			assert_int_equal(try(path, &stranger), cases[i].stranger);
			assert_int_equal(try(path, NULL), cases[i].unknown);
		}
		tree_remove(&t);
	}
}

static void groups_count(void **state)
{
	struct identity other = { .uid = 61003, .gid = 61005 };
	struct tree t;

	if (geteuid())
		skip();
	tree_make(&t, 0750, 0640);
	assert_int_equal(try(t.file, &other), 0);
	other.gid = 61006;
	assert_int_equal(try(t.file, &other), -EACCES);
	other.group_cnt = 2;
	other.groups[1] = 61005;
	assert_int_equal(try(t.file, &other), 0);
	tree_remove(&t);
}

static void only_ordinary_files_are_read(void **state)
{
	char fifo[128], loop[128];
	struct tree t;

	if (geteuid())
		skip();
	tree_make(&t, 0755, 0644);
	snprintf(fifo, sizeof(fifo), "%s/fifo", t.path);
	snprintf(loop, sizeof(loop), "%s/loop", t.path);
	assert_int_equal(mkfifo(fifo, 0666), 0);
	assert_int_equal(symlink("loop", loop), 0);
	assert_int_equal(try(fifo, &root), -EINVAL);
	assert_int_equal(try(loop, &root), -ELOOP);
	assert_int_equal(try("/dev/zero", &root), -EINVAL);
	assert_int_equal(try(t.folder, &root), -EISDIR);
	assert_int_equal(try("/nonexistent/x.py", &root), -ENOENT);
	strcat(t.file, "/y");
	assert_int_equal(try(t.file, &root), -ENOTDIR);
	t.file[strlen(t.file) - 2] = '\0';
	assert_int_equal(truncate(t.file, SOURCE_FILE_MAX + 1), 0);
	assert_int_equal(try(t.file, &root), -EFBIG);
	tree_remove(&t);
}

static void nothing_leads_out_of_a_named_folder(void **state)
{
	char *text = NULL;
	struct tree t;

	if (geteuid())
		skip();
	tree_make(&t, 0700, 0600);
	assert_int_equal(source_file_read_below(&text, t.folder, "x.py"), 0);
	assert_string_equal(text, "text");
	free(text);
	assert_int_equal(source_file_read_below(&text, t.path, "/folder/x.py"), 0);
	free(text);
	assert_int_not_equal(source_file_read_below(&text, t.folder, "../link.py"), 0);
	assert_int_not_equal(source_file_read_below(&text, t.folder, "/etc/passwd"), 0);
	assert_int_equal(symlink("/etc/passwd", strcat(t.folder, "/out")), 0);
	t.folder[strlen(t.folder) - 4] = '\0';
	assert_int_not_equal(source_file_read_below(&text, t.folder, "out"), 0);
	tree_remove(&t);
}

static void identities_survive_as_text(void **state)
{
	struct identities set = { 0 }, again = { 0 };
	struct identity second = stranger;
	const struct identity *got;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	second.pid = member.pid;
	identities_add(&set, &stranger);
	identities_add(&set, &member);
	identities_add(&set, &member);
	identities_add(&set, &second);
	assert_int_equal(set.cnt, 3);
	fputs("interrupts 5\nids 1\nids 7 x 3\nids -1 2 3\nids", f);
	fputs("\n", f);
	identities_write(&set, f);
	assert_int_equal(fclose(f), 0);
	identities_read(&again, text);
	assert_int_equal(again.cnt, 3);
	got = identities_find(&again, member.pid, 0);
	assert_non_null(got);
	assert_true(identity_is_same(got, &member) || identity_is_same(got, &second));
	assert_non_null(identities_find(&again, member.pid, 1));
	assert_null(identities_find(&again, member.pid, 2));
	assert_true(identity_is_same(identities_find(&again, stranger.pid, 0), &stranger));
	assert_null(identities_find(&again, 99, 0));
	identities_free(&set);
	identities_free(&again);
	free(text);
}

/* What cannot be kept may not make a process look like one that could read more. */
static void too_many_identities_are_doubt(void **state)
{
	struct identity one = { .pid = 5, .gid = 5, .said = 7 };
	struct identities set = { 0 }, again = { 0 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (one.uid = 0; one.uid < IDENTITIES_OF_PID; one.uid++)
		identities_add(&set, &one);
	assert_int_equal(set.cnt, IDENTITIES_OF_PID);
	assert_false(set.list[0].doubt);
	assert_true(identities_has(&set, 5, 3, 5, 7));
	assert_false(identities_has(&set, 5, 3, 5, 8));
	assert_false(identities_has(&set, 6, 3, 5, 7));
	identities_add(&set, &one);
	assert_int_equal(set.cnt, IDENTITIES_OF_PID);
	assert_true(set.list[0].doubt);
	identities_write(&set, f);
	assert_int_equal(fclose(f), 0);
	assert_non_null(strstr(text, "ids 5 ?\n"));
	identities_read(&again, text);
	assert_int_equal(again.cnt, IDENTITIES_OF_PID);
	assert_true(again.list[0].doubt);
	identities_free(&set);
	identities_free(&again);
	free(text);
}

static void several_owners_of_captures_are_nobody(void **state)
{
	struct identities set = { 0 };

	identities_foreign(&set, 61001, false);
	assert_true(set.foreign);
	assert_int_equal(set.owner.uid, 61001);
	assert_false(set.owner.doubt);
	/* No group of a file is one of its owner's. */
	assert_int_equal(set.owner.gid, IDENTITY_NO_GROUP);
	identities_foreign(&set, 61001, false);
	assert_false(set.owner.doubt);
	identities_foreign(&set, 61002, false);
	assert_true(set.owner.doubt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_an_acl_is_its_owners),
		cmocka_unit_test(what_the_ids_allow_is_shown),
		cmocka_unit_test(groups_count),
		cmocka_unit_test(only_ordinary_files_are_read),
		cmocka_unit_test(nothing_leads_out_of_a_named_folder),
		cmocka_unit_test(identities_survive_as_text),
		cmocka_unit_test(too_many_identities_are_doubt),
		cmocka_unit_test(several_owners_of_captures_are_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
