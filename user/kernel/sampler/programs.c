/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/sampler/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <unistd.h>

#include "krait.skel.h"
#include "bpf/native/rows.h"
#include "kernel/sampler/kernel_btf.h"
#include "kernel/sampler/probe.h"
#include "kernel/sampler/sampler.h"
#include "process/proc/cgroup.h"
#include "base/data/cleanup.h"
#include "base/system/clock.h"
#include "base/system/error.h"
#include "base/system/grids.h"
#include "base/text/log.h"
#include "base/system/privileges.h"
#include "base/worker/own.h"

/* Last lines of a verifier's log that -v shows: they contain the reason. */
#define VERIFIER_LINES 40

/*
 * The verifier's reason for refusing a program. libbpf's callback has no context, but runs in the
 * thread that loads: so each thread has its own.
 */
static _Thread_local char verifier_says[160];

/* A log ends with the reason and a line of statistics. */
static void note_verifier(const char *line)
{
	if (*line && strncmp(line, "processed ", 10) && strncmp(line, "--", 2) &&
	    strncmp(line, "libbpf: ", 8))
		snprintf(verifier_says, sizeof(verifier_says), "%s", line);
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	cleanup_free char *text = NULL;
	char *rest, *line;
	bool is_log;
	int left = 0;

	/* At that level libbpf prints a line for each relocation of each program. */
	if (level == LIBBPF_DEBUG || vasprintf(&text, fmt, ap) < 0)
		return 0;
	is_log = strstr(text, "BEGIN PROG LOAD LOG");
	for (const char *c = text; *c; c++)
		left += *c == '\n';
	/* libbpf's warnings only repeat our own error in expert terms. */
	for (rest = text; (line = strsep(&rest, "\n")); left--) {
		if (is_log)
			note_verifier(line);
		if (*line && left <= VERIFIER_LINES)
			log_debug("libbpf", "%s", line);
	}
	return 0;
}

/*
 * The function that programs for "iter/task" belong to, by its number in the kernel's types; 0: not known.
 * libbpf would read all of these types to find it (5 MB, 15 ms), as for any program of type "tracing", so
 * it takes the program for another one until it loads it. Its callbacks have no context: see above.
 */
static _Thread_local __u32 task_iterator;
#define TASK_ITERATOR "bpf_iter_task"

static int prepare_iterator(struct bpf_program *program, struct bpf_prog_load_opts *opts,
			    long cookie)
{
	const int id = task_iterator ? (int)task_iterator :
				       libbpf_find_vmlinux_btf_id("task", BPF_TRACE_ITER);

	if (id <= 0)
		return id ? id : -ESRCH;
	opts->attach_btf_id = (__u32)id;
	opts->expected_attach_type = BPF_TRACE_ITER;
	return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

static void handle_iterators(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = prepare_iterator);
	static bool is_registered;

	if (!is_registered)
		is_registered = libbpf_register_prog_handler("iter/", BPF_PROG_TYPE_RAW_TRACEPOINT,
							     0, &opts) >= 0;
}

/* Opens them with the excerpt of the kernel's types, which libbpf reads on loading. NULL: no excerpt. */
static struct krait_bpf *open_with_types(int types_fd)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct krait_bpf *skel = NULL;
	char path[64];
	int err = -EBADF;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types_fd);
	opts.btf_custom_path = path;
	if (types_fd >= 0)
		skel = krait_bpf__open_opts(&opts);
	if (skel)
		err = kernel_btf_write(bpf_object__btf(skel->obj), KERNEL_BTF, types_fd,
				       TASK_ITERATOR, &task_iterator);
	if (!err)
		return skel;
	log_debug("sampler", "no excerpt of the kernel's types: %s", strerror(-err));
	krait_bpf__destroy(skel);
	return NULL;
}

struct krait_bpf *programs_open(int *ret_types_fd)
{
	struct krait_bpf *skel;

	libbpf_set_print(print_libbpf);
	handle_iterators();
	task_iterator = 0;
	*ret_types_fd = memfd_create("krait-types", MFD_CLOEXEC);
	skel = open_with_types(*ret_types_fd);
	return skel ? skel : krait_bpf__open();
}

/* ---- settings --------------------------------------------------------------------------------- */

/* A bit for each event whose every tick calls the program: a clock that skips none. */
static __u32 clock_events(const struct sampler_config *config)
{
	__u32 bits = 0;

	for (unsigned i = 0; i < config->event_cnt; i++) {
		const struct event_spec *e = &config->events[i];

		if (event_is_clock(e) && !e->exclude_user && !e->exclude_kernel)
			bits |= 1U << i;
	}
	return bits;
}

/* The period of the first of them; 0: there is none. */
static __u64 clock_period_ns(const struct sampler_config *config)
{
	__u32 bits = clock_events(config);
	const struct event_spec *e = bits ? &config->events[__builtin_ctz(bits)] : NULL;

	if (!e)
		return 0;
	return e->frequency ? NS_PER_SEC / e->frequency : e->period;
}

static bool has_faults(const struct sampler_config *config)
{
	for (unsigned i = 0; i < config->event_cnt; i++)
		if (event_is_touched(&config->events[i]))
			return true;
	return false;
}

/* Events that are tracepoints, or probes in code. */
static unsigned probe_cnt(const struct sampler_config *config, bool in_code)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < config->event_cnt; i++)
		cnt += event_is_probe(&config->events[i]) && in_code == !!config->events[i].code;
	return cnt;
}

static __u32 page_shift(void)
{
	return (__u32)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
}

/* May one fault bring more than one page? Pages of medium sizes have their own switches, which are off by default. */
static bool has_huge_pages(void)
{
	cleanup_fclose FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
	char text[64];

	return f && fgets(text, sizeof(text), f) && !strstr(text, "[never]");
}

/* Samples take less than that. */
#define CROWDED_NS 500000

static void settle_events(struct krait_bpf__rodata *r, const struct sampler_config *config,
			  bool has_switches)
{
	for (unsigned i = 0; i < config->event_cnt; i++) {
		const struct event_spec *e = &config->events[i];

		if (grids_of(e) > 1) {
			r->grid_events |= 1U << i;
			r->crowded_events |= (NS_PER_SEC / e->frequency < CROWDED_NS) << i;
		}
		r->probe_periods[i] = event_is_probe(e) ? e->period : 0;
		if (e->is_read) {
			r->has_groups = true;
			r->group_members[e->leader - 1] |= 1U << i;
		}
		if (!event_is_touched(e))
			continue;
		r->fault_event = i;
		r->fault_page_shift = page_shift();
		r->fault_region_shift = has_huge_pages() ? page_shift() - 3 : 0;
	}
	r->several_events = config->event_cnt - has_switches > 1;
}

const struct bpf_program *programs_fault(const struct krait_bpf *skel)
{
	return bpf_program__autoload(skel->progs.fault_loop) ? skel->progs.fault_loop :
							       skel->progs.fault_bounded;
}

struct bpf_program *programs_sampling(const struct krait_bpf *skel)
{
	return bpf_program__autoload(skel->progs.sample_loop) ? skel->progs.sample_loop :
								skel->progs.sample_bounded;
}

bool programs_want_clocks(const struct sampler_config *config)
{
	return clock_events(config) && !config->only_looks;
}

/*
 * The kernel clears all of a map at the start; and the more threads share a CPU, the less does a sample that costs
 * less save in each.
 */
#define ANCHORS_PER_CPU 128U

static __u32 anchors_max(__u32 cpus)
{
	return cpus < KRAIT_MAX_ANCHORS / ANCHORS_PER_CPU ? cpus * ANCHORS_PER_CPU :
							    KRAIT_MAX_ANCHORS;
}

static void settle(struct krait_bpf__rodata *r, const struct sampler_config *config,
		   bool has_switches, const struct features *features)
{
	const size_t bytes = sampler_ring_bytes(config->ring_bytes);

	r->cpu_cnt = libbpf_num_possible_cpus();
	r->wakeup_bytes = bytes / 4;
	r->ring_bytes_max = bytes;
	r->sample_bytes_max = bytes - bytes / 16;
	r->clock_events = clock_events(config);
	r->grid_events = r->crowded_events = 0;
	r->has_groups = false;
	memset(r->group_members, 0, sizeof(r->group_members));
	settle_events(r, config, has_switches);
	r->want_clocks = programs_want_clocks(config);
	r->make_up_ticks = config->whole_time;
	r->whole_period_ns = has_switches || config->budget_permille ? clock_period_ns(config) : 0;
	r->note_ticks = has_switches;
	r->want_states = config->states || has_switches;
	r->jitter_period_ns = config->jitter ? NS_PER_SEC / config->events[0].frequency : 0;
	r->budget_permille = config->budget_permille;
	r->audit_every = config->audit_every;
	r->follow_all = config->follow_all;
	r->page_shift = page_shift();
	r->rides_along = config->ride.cnt > 0;
	r->want_native = config->native;
	r->want_kernel = config->kernel;
	r->want_tasks = config->tasks;
	r->want_task_names = config->task_names;
	r->want_greenlets = config->greenlets;
	r->want_opcodes = config->opcodes;
	r->measure_time = config->measure;
	r->has_task_regs = features->task_regs;
	r->user_cnt = (__u32)config->user_cnt;
	for (size_t i = 0; i < config->user_cnt && i < KRAIT_MAX_USERS; i++)
		r->users[i] = config->users[i];
	r->own_only = own_only();
}

/* Which programs are loaded, and how large the maps are; the rest is the same for all. NULL ends each list. */
struct choice {
	struct {
		struct bpf_program *program;
		bool wanted;
	} programs[12];
	struct {
		struct bpf_map *map;
		__u32 entries;
	} maps[12];
};

static struct choice choose(const struct krait_bpf *skel, const struct sampler_config *config,
			    bool has_switches, const struct features *features)
{
	const bool loops = features_loops(features), samples = !config->only_looks;
	const bool code = probe_cnt(config, true) && features->bpf_loop;
	const __u32 cpus = (__u32)libbpf_num_possible_cpus();
	const __u32 contexts = code ? CONTEXT_CNT : has_switches ? CONTEXT_PROBE : CONTEXT_TRACE;

	return (struct choice){
		.programs = {
			{ skel->progs.sample_loop, loops && samples },
			{ skel->progs.sample_bounded, !loops && samples },
			{ skel->progs.fault_loop, loops && has_faults(config) },
			{ skel->progs.fault_bounded, !loops && has_faults(config) },
			/* A probe in a library is in all processes that map it, other users' too. */
			{ skel->progs.runtime_begin, features->cookies && !own_only() },
			{ skel->progs.process_mmap,
			  config->native || config->tasks || config->greenlets },
			{ skel->progs.probe_tracepoint,
			  probe_cnt(config, false) && features->bpf_loop },
			{ skel->progs.probe_code, code },
			{ skel->progs.look_at_threads, has_switches || config->looks },
			{ skel->progs.read_clocks, programs_want_clocks(config) },
		},
		.maps = {
			{ skel->maps.scratch, cpus * contexts },
			{ skel->maps.unwind_cache, cpus * UNWIND_CACHE_SIZE },
			{ skel->maps.ring, (__u32)sampler_ring_bytes(config->ring_bytes) },
			{ skel->maps.group_events, cpus * KRAIT_MAX_EVENTS },
			{ skel->maps.unwind_procs, config->native ? KRAIT_MAX_PROCS : 1 },
			{ skel->maps.task_layouts, config->tasks ? KRAIT_MAX_PROCS : 1 },
			{ skel->maps.greenlet_places, config->greenlets ? KRAIT_MAX_PROCS : 1 },
			{ skel->maps.anchors, anchors_max(cpus) },
		},
	};
}

int programs_configure(struct krait_bpf *skel, const struct sampler_config *config,
		       bool has_switches, const struct features *features)
{
	const struct choice c = choose(skel, config, has_switches, features);
	int err = 0;

	for (unsigned i = 0; c.programs[i].program; i++)
		err |= bpf_program__set_autoload(c.programs[i].program, c.programs[i].wanted);
	for (unsigned i = 0; c.maps[i].map; i++)
		err |= bpf_map__set_max_entries(c.maps[i].map, c.maps[i].entries);
	settle(skel->rodata, config, has_switches, features);
	/* Nobody's, until programs_settle(). */
	skel->bss->own_uid = skel->bss->own_gid = ~0U;
	return err ? -1 : 0;
}

bool programs_suit(const struct krait_bpf *skel, const struct sampler_config *config,
		   const struct features *features)
{
	const struct choice c = choose(skel, config, false, features);
	struct krait_bpf__rodata wanted = *skel->rodata;
	bool suits = true;

	for (unsigned i = 0; c.programs[i].program; i++)
		suits = suits &&
			bpf_program__autoload(c.programs[i].program) == c.programs[i].wanted;
	for (unsigned i = 0; c.maps[i].map; i++)
		suits = suits && bpf_map__max_entries(c.maps[i].map) == c.maps[i].entries;
	settle(&wanted, config, false, features);
	return suits && !memcmp(&wanted, skel->rodata, sizeof(wanted));
}

void programs_settle(struct krait_bpf *skel, const struct sampler_config *config)
{
	skel->bss->own_uid = getuid();
	skel->bss->own_gid = getgid();
	for (unsigned i = 0; i < config->event_cnt; i++)
		if (skel->rodata->grid_events >> i & 1)
			skel->bss->grids_period_ns[i] = NS_PER_SEC / config->events[i].frequency;
}

/* ---- loading and attaching -------------------------------------------------------------------- */

/* With maps of the usual size, on two CPUs. */
#define USUAL_MIB 64

/* The kernel charges programs and maps to krait's control group, which may allow less. */
int programs_no_memory(struct error *err)
{
	cleanup_close int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	char text[16384] = "", group[256] = "";
	unsigned long long bytes = 0;

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		bytes = cgroup_memory_limit(text, "/sys/fs/cgroup", group, sizeof(group));
	if (bytes && bytes >> 20 < 4 * USUAL_MIB)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL,
				 "krait's control group %s may use only %llu MiB of memory, too "
				 "little for krait's BPF programs and maps, which need about %d: "
				 "raise that limit (MemoryMax=, docker run --memory)",
				 group, bytes >> 20, USUAL_MIB);
	return error_set(err, ENOMEM, EXIT_CODE_KERNEL,
			 "the kernel has no memory for krait's BPF programs and maps, which need "
			 "about %d MiB: end something else, or choose a smaller --ring-size",
			 USUAL_MIB);
}

int programs_load(struct krait_bpf *skel, struct error *err)
{
	int result;

	verifier_says[0] = '\0';
	result = krait_bpf__load(skel);
	if (result && verifier_says[0])
		return error_set(
			err, -result, EXIT_CODE_KERNEL,
			"this kernel's verifier refuses krait's BPF programs: %s (-v shows "
			"all of it; please report it)",
			verifier_says);
	if (result == -ENOMEM)
		return programs_no_memory(err);
	if (result == -EPERM || result == -EACCES)
		return error_set(err, -result, EXIT_CODE_PERMISSION,
				 "the kernel refuses to load BPF programs: %s (see -v)",
				 strerror(-result));
	if (result)
		return error_set(err, -result, EXIT_CODE_KERNEL,
				 "the kernel rejects krait's BPF programs: %s (see -v)",
				 strerror(-result));
	return 0;
}

/* Gives the maps of one skeleton to another, which has the same. */
static int share_maps(const struct krait_bpf *from, struct krait_bpf *to)
{
	struct bpf_map *map, *shared = NULL;

	bpf_object__for_each_map(map, to->obj) {
		shared = bpf_object__next_map(from->obj, shared);
		if (!shared || bpf_map__reuse_fd(map, bpf_map__fd(shared)))
			return -1;
	}
	return 0;
}

/* Puts the program, if it is loaded, where its caller looks for it. */
static int enter_chained(const struct bpf_map *callers, const struct bpf_program *program)
{
	const __u32 first = 0;
	const int fd = bpf_program__fd(program);

	return fd >= 0 && bpf_map_update_elem(bpf_map__fd(callers), &first, &fd, BPF_ANY) ? -errno :
											    0;
}

static int load_chained(const struct krait_bpf *skel, struct krait_bpf *more)
{
	struct bpf_program *program;
	int err;

	bpf_object__for_each_program(program, more->obj)
		bpf_program__set_autoload(program, false);
	bpf_program__set_autoload(more->progs.sample_chained,
				  bpf_program__autoload(skel->progs.sample_loop));
	bpf_program__set_autoload(more->progs.arrival_chained,
				  bpf_program__autoload(skel->progs.arrival_loop));
	err = share_maps(skel, more) ? -errno : krait_bpf__load(more);
	if (!err)
		err = enter_chained(skel->maps.sample_chains, more->progs.sample_chained);
	if (!err)
		err = enter_chained(skel->maps.arrival_chains, more->progs.arrival_chained);
	return err;
}

int programs_load_chained(const struct krait_bpf *skel, programs_code_fn code, void *ctx)
{
	cleanup_close int types_fd = -1;
	struct krait_bpf *more;
	int err;

	if (!bpf_program__autoload(skel->progs.sample_loop) &&
	    !bpf_program__autoload(skel->progs.arrival_loop))
		return 0;
	more = programs_open(&types_fd);
	if (!more)
		return -errno;
	err = load_chained(skel, more);
	if (!err && code)
		programs_code(more, code, ctx);
	krait_bpf__destroy(more);
	return err;
}

/*
 * Debian's kernels demand more rights than for a program (perf_events.c). Without this probe krait
 * looks at mappings from time to time.
 */
static struct bpf_link *attach_kprobe(struct bpf_program *program)
{
	cleanup_loan struct privileges_loan loan = privileges_borrow(CAP_SYS_ADMIN);

	return bpf_program__attach(program);
}

int programs_attach(struct krait_bpf *skel, bool mappings, struct error *err)
{
	skel->links.process_exec = bpf_program__attach(skel->progs.process_exec);
	skel->links.process_fork = bpf_program__attach(skel->progs.process_fork);
	skel->links.process_exit = bpf_program__attach(skel->progs.process_exit);
	if (mappings)
		skel->links.process_mmap = attach_kprobe(skel->progs.process_mmap);
	if (mappings && !skel->links.process_mmap)
		log_debug("sampler", "mappings are not reported: %s", strerror(errno));
	if (skel->links.process_exec && skel->links.process_fork && skel->links.process_exit)
		return 0;
	return error_set(err, errno, EXIT_CODE_KERNEL, "cannot follow process events: %s",
			 strerror(errno));
}

const char *programs_compiler(void)
{
	return KRAIT_BPF_COMPILER;
}

/* ---- their code ------------------------------------------------------------------------------- */

/* A program has at most 256 functions, BPF_MAX_SUBPROGS in the kernel's bpf_verifier.h. */
#define FUNCTIONS_MAX 256

void programs_code(const struct krait_bpf *skel, programs_code_fn fn, void *ctx)
{
	__u64 starts[FUNCTIONS_MAX] = { 0 };
	__u32 sizes[FUNCTIONS_MAX] = { 0 };
	struct bpf_program *program;

	bpf_object__for_each_program(program, skel->obj) {
		struct bpf_prog_info info = {
			.nr_jited_ksyms = FUNCTIONS_MAX,
			.jited_ksyms = (uintptr_t)starts,
			.nr_jited_func_lens = FUNCTIONS_MAX,
			.jited_func_lens = (uintptr_t)sizes,
		};
		__u32 size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) ||
		    info.nr_jited_ksyms != info.nr_jited_func_lens)
			continue;
		for (__u32 i = 0; i < info.nr_jited_ksyms && i < FUNCTIONS_MAX; i++)
			if (starts[i])
				fn(ctx, starts[i], sizes[i]);
	}
}
