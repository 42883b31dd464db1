# SPDX-License-Identifier: BSD-2-Clause
#
# krait: eBPF sampling profiler for CPython
#
#   make                  build/krait
#   make demo             install what is missing, build, profile a small program
#   make check            every kind of test, on a fresh machine too, in some minutes
#   make check-asan       unit tests, and parsers of foreign data, under sanitizers
#   make check-all        the same on every interpreter that is here
#
# Knobs:
#   WERROR=1              warnings are errors, as in .ci/run: new compilers know new warnings
#   V=1                   show commands; test runs show each test
#   O=dir                 build elsewhere (default build, build-asan, build-debug ...)
#   STATIC=1              link everything statically (scripts/static provides the libraries)
#   ARCH=arm64            static, wheel, image, deb: for arm64, on x86-64 (all else: scripts/cross)
#   DEBUG=1               -O0 for the user side, in build-debug
#   SAN=address,undefined sanitizers for the user side, in build-asan; SAN=thread in build-tsan
#   T=pattern             only test files whose path matches the extended regular expression
#   FUZZ_SECS=60          seconds for each fuzzer
#   B=--quick             options of the benchmark (scripts/bench --help)
#   CC= CLANG= BPFTOOL= PREFIX= DESTDIR=   the usual

VERSION := 0.1.0

comma := ,
ifneq ($(filter thread,$(subst $(comma), ,$(SAN))),)
O ?= build-tsan
else ifneq ($(SAN),)
O ?= build-asan
else ifneq ($(DEBUG),)
O ?= build-debug
else
O ?= build
endif
# The BPF programs' build folder: they are the same in every build of the user side.
BPF_O ?= $(O)

# bpftool is in /usr/sbin, which is not in everyone's path.
export PATH := $(PATH):/usr/sbin:/sbin

CLANG ?= clang
LLVM_STRIP ?= llvm-strip
BPFTOOL ?= bpftool
CLANG_FORMAT ?= clang-format
PKG_CONFIG ?= pkg-config
PROTOC_C ?= protoc-c
INSTALL ?= install
PREFIX ?= /usr/local
FUZZ_SECS ?= 60

# The compiler says for which machine: CC=aarch64-linux-gnu-gcc builds for arm64. What it builds runs by qemu-user here.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
EMULATOR := $(if $(filter $(shell uname -m),$(MACHINE)),,qemu-$(MACHINE)-static)
ARCH := $(MACHINE:aarch64=arm64)
BPF_ARCH := $(ARCH:x86_64=x86)

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n' $(1) $(2)
MAKEFLAGS += --no-print-directory
endif

# ---- sources, in the order in which data flows ------------------------------------------------

GROUPS := base python process profile native kernel output capture record agent look cmd
BPF_SRC := $(sort $(wildcard bpf/*.bpf.c))
# LEFT_OUT: sources that this build omits.
LIB_SRC := $(filter-out user/cmd/main.c $(LEFT_OUT),$(foreach g,$(GROUPS),$(sort $(wildcard user/$(g)/*.c user/$(g)/*/*.c))))
ASSETS := $(wildcard user/output/page/*.html user/output/page/*.js user/output/page/*.css)
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
SUPPORT_SRC := $(sort $(wildcard tests/unit/support_*.c))
# Replacements of the outside for replaying a session.
REPLAY_SRC := $(sort $(wildcard tests/unit/replay*.c))
BPF_TEST_SRC := $(sort $(wildcard tests/bpf/test_*.c))
TWIN_SRC := $(sort $(wildcard tests/bpf/*.bpf.c))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FEEDER_SRC := tests/fuzz/feeder.c

BPF_OBJ := $(BPF_SRC:bpf/%.c=$(BPF_O)/bpf/%.o)
# What make dist has compiled, as long as no source is newer: then neither clang nor bpftool is needed.
RELEASED := $(wildcard bpf/krait.$(BPF_ARCH).skel.h)
RELEASED := $(if $(RELEASED),$(if $(shell find bpf vmlinux/$(ARCH) -newer $(RELEASED) -name '*.[ch]'),,$(RELEASED)))
TWIN_OBJ := $(TWIN_SRC:%.c=$(O)/%.o)
TWIN_SKEL := $(TWIN_SRC:tests/bpf/%.bpf.c=$(O)/gen/%.skel.h)
SKEL := $(if $(BPF_SRC),$(BPF_O)/gen/krait.skel.h)
PROTO_SRC := $(wildcard user/*/*/*.proto)
PROTO_HDR := $(PROTO_SRC:user/%.proto=$(O)/gen/%.pb-c.h)
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o) $(PROTO_HDR:.h=.o)
MAIN_OBJ := $(O)/user/cmd/main.o
TEST_OBJ := $(patsubst %.c,$(O)/%.o,$(UNIT_SRC) $(SUPPORT_SRC) $(REPLAY_SRC) $(BPF_TEST_SRC) $(FUZZ_SRC) $(FEEDER_SRC))
UNIT_BIN := $(UNIT_SRC:%.c=$(O)/%)
# Tests that replay a session (tests/unit/replay.h).
REPLAY_BIN := $(filter $(O)/tests/unit/test_replay%,$(UNIT_BIN))
REPLAY_WRAP := $(patsubst %,-Wl$(comma)--wrap=%,process_start_ticks proc_owner process_each fstat statx \
	debug_file_open kernel_symbols__find kernel_symbols__is_own whose_note whose_now proc_stat_read poll)
BPF_TEST_BIN := $(BPF_TEST_SRC:%.c=$(O)/%)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(O)/%)
# Likewise, without libFuzzer.
FEED_BIN := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(O)/tests/fuzz/feed_%)

# ---- flags ------------------------------------------------------------------------------------

# Callbacks may ignore parameters, and tables may omit trailing zeroes.
WARN := -Wall -Wextra $(if $(WERROR),-Werror) -Wno-unused-parameter -Wno-missing-field-initializers
# BPF_CORE_READ() of libbpf before 1.6 declares constants that it never reads, which clang 21 and later warn of.
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -std=gnu11 $(WARN) -Wno-unknown-warning-option \
	-Wno-default-const-init-var-unsafe -D__TARGET_ARCH_$(BPF_ARCH) \
	-Ivmlinux/$(ARCH) -iquote .

# STATIC=1: everything in one file (scripts/static), what krait otherwise loads when it needs it included.
PKGS := inih ncursesw libbpf libelf libdw liblzma libzstd zlib libprotobuf-c libcap libseccomp $(if $(STATIC),libcurl libmicrohttpd)
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null)
# Asked for by the first of hundreds of links.
PKG_LIBS = $(eval PKG_LIBS := $(shell $(PKG_CONFIG) $(if $(STATIC),--static) --libs $(PKGS))$(if $(STATIC), -leu -l:libsupc++.a -static-pie -Wl$(comma)--gc-sections))$(PKG_LIBS)
OPT := $(if $(DEBUG),-O0,-O2)
# Without DEBUG enough to name functions and lines of a stack: all of it takes a fifth longer to build.
DEBUG_INFO := $(if $(DEBUG),-g,-g1)
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
WARN_USER := $(WARN) -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wundef
# Quoted includes only, below user/ or as "bpf/...": they must not shadow system headers.
DEFINES := -D_GNU_SOURCE $(if $(STATIC),-DKRAIT_STATIC) -DKRAIT_VERSION='"$(VERSION)"' -DKRAIT_SRCDIR='"$(CURDIR)"' \
	-iquote user -iquote . -iquote $(BPF_O)/gen -iquote $(O)/gen
ALL_CFLAGS = -std=gnu11 $(OPT) $(DEBUG_INFO) $(WARN_USER) $(SAN_FLAGS) $(PKG_CFLAGS) $(DEFINES) \
	$(CPPFLAGS) $(CFLAGS)
# cmocka 2 has new names for what older ones have under these only.
TEST_CFLAGS := -iquote tests/unit -iquote tests/bpf -Wno-deprecated-declarations
LIBS = $(PKG_LIBS) -lpthread -lm
# gold links the hundreds of tests in half of bfd's time; without gold we use the default linker.
FAST_LINK := $(if $(shell command -v ld.gold),-fuse-ld=gold)

.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

# ---- build ------------------------------------------------------------------------------------

all: $(O)/krait ## build krait (the default)

$(BPF_O)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@
	$(Q)$(LLVM_STRIP) -g $@

$(O)/tests/bpf/%.bpf.o: tests/bpf/%.bpf.c
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -Itests/bpf -MMD -MP -c $< -o $@
	$(Q)$(LLVM_STRIP) -g $@

# All programs share one skeleton, so that they share maps and read-only data.
$(BPF_O)/bpf/krait.bpf.o: $(BPF_OBJ)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

ifneq ($(RELEASED),)
$(BPF_O)/gen/krait.skel.h: $(RELEASED)
	$(call say,COPY,$@)
	@mkdir -p $(@D)
	$(Q)cp $< $@
else
$(BPF_O)/gen/krait.skel.h: $(BPF_O)/bpf/krait.bpf.o Makefile
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)printf '#include "bpf/abi.h"\n' > $@ # types of variables
	$(Q)$(BPFTOOL) gen skeleton $< name krait_bpf >> $@
	$(Q)printf '#define KRAIT_BPF_COMPILER "%s"\n' "$$($(CLANG) --version | sed '1{s/["\\]//g;q}')" >> $@
endif

# Programs loaded only by tests: each has its own skeleton, named after its file.
$(O)/gen/%.skel.h: $(O)/tests/bpf/%.bpf.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)printf '#include "bpf/abi.h"\n' > $@
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*) >> $@

$(O)/gen/%.pb-c.h $(O)/gen/%.pb-c.c &: user/%.proto
	$(call say,PROTOC,$@)
	@mkdir -p $(@D)
	@# Version 1.5 calls its own name deprecated at each call.
	$(Q)said=$$($(PROTOC_C) --proto_path=user --c_out=$(O)/gen $< 2>&1) || { echo "$$said" >&2; exit 1; }

$(O)/gen/%.o: $(O)/gen/%.c
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(O)/%.o: %.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(filter $(O)/user/kernel/%,$(LIB_OBJ)): | $(SKEL)
$(filter $(O)/user/output/% $(O)/user/agent/%,$(LIB_OBJ)): | $(PROTO_HDR)
$(O)/user/output/page/html.o: $(O)/page.html
$(O)/user/output/page/html.o: private DEFINES += -DKRAIT_BUILD='"$(abspath $(O))"'
$(O)/page.html: $(ASSETS) scripts/pack-page
	@mkdir -p $(@D)
	@scripts/pack-page user/output/page/flamegraph.html > $@.tmp && mv $@.tmp $@
ifneq ($(STATIC),)
$(O)/user/cmd/top/terminal.o: $(O)/gen/terminfo.h
# Two descriptions of terminals, as ncurses reads them from an environment variable.
$(O)/gen/terminfo.h:
	@mkdir -p $(@D)
	$(Q){ printf '#define TERMINFO_LINUX "%s"\n' "$$(infocmp -q -Q2 linux | tr -d '\n')"; \
		printf '#define TERMINFO_XTERM "%s"\n' "$$(infocmp -q -Q2 xterm-256color | tr -d '\n')"; } > $@
endif
$(O)/user/look/exec/place.o: user/look/exec/wrapper.py
$(TEST_OBJ): private DEFINES += $(TEST_CFLAGS)
$(TEST_OBJ): | $(PROTO_HDR)
$(filter $(O)/tests/bpf/%,$(TEST_OBJ)): | $(TWIN_SKEL) $(SKEL)
# TEST_OPT: for sources that only tests use. gcc's warnings differ at -Og; only those for the users' build matter.
TEST_OPT ?= $(if $(DEBUG),,-Og -Wno-format-truncation -Wno-maybe-uninitialized)
$(TEST_OBJ): override private CFLAGS += $(TEST_OPT)
# libFuzzer declares their function.
$(filter $(O)/tests/fuzz/%,$(TEST_OBJ)): override private CFLAGS += -Wno-missing-prototypes
# This test reads its own debug information.
$(O)/tests/unit/test_dwarf_layout.o: override private CFLAGS += -g

# Made anew each time, so that the archive keeps no objects of deleted sources.
$(O)/libkrait.a: $(LIB_OBJ)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(O)/krait: $(MAIN_OBJ) $(O)/libkrait.a
	@[ $(ARCH) = $(MACHINE:aarch64=arm64) ] || { echo 'krait: $(CC) does not build for $(ARCH): scripts/cross does' >&2; exit 1; }
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_FLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# A krait whose profile has a thousandth of the room, for attacks that fill it.
$(O)/small/room.o: user/profile/room.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DPROFILE_ROOM_SHIFT=10 -MMD -MP -c $< -o $@

$(O)/krait-small: $(O)/small/room.o $(MAIN_OBJ) $(O)/libkrait.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_FLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# The whole krait of a build whose library omits sources.
$(O)/krait-whole: $(MAIN_OBJ) $(patsubst %.c,$(O)/%.o,$(LEFT_OUT)) $(O)/libkrait.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_FLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

$(O)/libsupport.a: $(SUPPORT_SRC:%.c=$(O)/%.o)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(REPLAY_BIN): $(O)/%: $(O)/%.o $(REPLAY_SRC:%.c=$(O)/%.o) $(O)/libsupport.a $(O)/libkrait.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_FLAGS) $(REPLAY_WRAP) $(FAST_LINK) $(LDFLAGS) $^ $(LIBS) -lcmocka -o $@

$(filter-out $(REPLAY_BIN),$(UNIT_BIN)) $(BPF_TEST_BIN): $(O)/%: $(O)/%.o $(O)/libsupport.a $(O)/libkrait.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_FLAGS) $(FAST_LINK) $(LDFLAGS) $^ $(LIBS) -lcmocka -o $@

# ---- test -------------------------------------------------------------------------------------

RUN := O=$(O) V=$(V) T='$(T)' scripts/run-tests
# A build within make check takes all CPUs, unless make was given a number of jobs.
BUILD = $(MAKE) $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
# Sources that no unit test needs: builds for unit tests only omit them. If a test comes to need one, linking fails.
NO_UNIT = $(wildcard user/cmd/doctor/*.c $(filter-out %/look_thread.c,$(wildcard user/look/dump/*.c)) $(patsubst %,user/cmd/%.c,agent/agent agent/agent_endpoint agent/agent_outputs agent/agent_snapshot report/annotate clean \
	report/convert dump/dump dump/dump_core dump/dump_options dump/dump_print dump/dump_tasks \
	broker/broker broker/client broker/dial broker/peer broker/recorder broker/settings broker/setup exec/exec exec/exec_options exec/exec_print list/list list/list_print \
	record/by_broker record/record_report \
	report/script top/top version))
# AddressSanitizer sees, too, what null and object-size would report, and these two take a tenth of the build's time.
# Building at -Og takes three quarters of the time of -O1 (-O2: twice), and tests run as fast. Tests
# themselves take longer to compile optimised than they would save.
ASAN = $(BUILD) SAN=address,undefined O=build-asan BPF_O=$(O) OPT=-Og TEST_OPT=-O0 LEFT_OUT='$(NO_UNIT)' \
	CFLAGS='-Wno-format-truncation -Wno-maybe-uninitialized -fno-sanitize=null,object-size'
# Line coverage by clang, whose counters are mapped files from the start: so it includes workers, which may not open
# files and which are killed.
COV = $(BUILD) O=build-cov BPF_O=$(O) CC='$(CLANG)' OPT=-O0 TEST_OPT= LEFT_OUT='$(NO_UNIT)' LDFLAGS='-fprofile-instr-generate' \
	CFLAGS='-fprofile-instr-generate=$(CURDIR)/build-cov/counts/%m%c.profraw -fcoverage-mapping \
	-mllvm -runtime-counter-relocation -Wno-error -Wno-missing-prototypes'
# Fuzzers are linked with a library instrumented by clang, in a build of its own. It has only code that they reach: not
# the code that follows and inspects processes, nor commands and screens.
FUZZED := user/cmd/broker/served.c user/cmd/common/formats.c user/cmd/roles.c user/kernel/sampler/record.c
NOT_FUZZED = $(filter-out $(FUZZED),$(wildcard $(foreach s,kernel/* $(addprefix record/,anchors follow run samples stack unwinding) look/dump agent cmd cmd/*,user/$(s)/*.c)))
FUZZ = $(BUILD) BPF_O=$(O) CC='$(CLANG)' TEST_OPT= LEFT_OUT='$(NOT_FUZZED)' SAN=fuzzer-no-link,address,undefined \
	CFLAGS='-Wno-error -Wno-missing-prototypes'
# FUZZ_LONG: for hours of fuzzing. FUZZ_SHORT: for the second in make check-all; the fastest build to compile.
FUZZ_LONG = $(FUZZ) O=build-fuzz OPT=-O1
FUZZ_SHORT = $(FUZZ) O=build-fuzz-short OPT=-O0

build-unit: $(UNIT_BIN)
build-bpf-tests: $(BPF_TEST_BIN)
build-fuzzers: $(FUZZ_BIN)
build-feeders: $(FEED_BIN)
build-libfuzzer: $(O)/tests/fuzz/libfuzzer_printable
build-attack: $(O)/krait-small
build-whole: $(O)/krait-whole
build-replay: $(O)/tests/unit/test_replay_log
# This program writes the pages that a browser opens in tests.
build-pages: $(O)/tests/unit/test_html

# First builds what users get and what records. The rest is built while tests that need the machine for themselves run,
# since they leave a third of it idle (scripts/run-tests).
check: check-built ## every kind of test, in short: all that depends on the interpreter on one of each class of layout
	+@$(RUN) --build build-tests unit bpf e2e truth attack

# One make after the other, since each also writes to $(O).
check-all: check-built ## check on every interpreter that is here and on wheels of PyPI, and all of check-asan; KRAIT_FULL=1: longer
	+@$(BUILD) build-unit
	+@$(ASAN) build-unit build-feeders
	+@$(FUZZ_SHORT) build-fuzzers
	@scripts/wheels
	@scripts/collector
	@$(RUN) --all unit asan fuzz bpf e2e truth attack

check-built:
	@scripts/run-tests --prepare
	@echo 'krait: check: building krait and its tests'
	+@$(BUILD) interpreters all build-bpf-tests build-attack build-replay build-pages $(O)/tests/bpf/verifier_stats $(O)/tests/run/contain

# Fetches what is missing while compilers run.
interpreters:
	@scripts/run-tests --interpreters

build-tests:
	+@$(BUILD) build-unit

check-unit: build-unit ## unit tests only: no root, no interpreter
	@$(RUN) unit

check-asan: all ## unit tests, and parsers of foreign data, under the address and undefined-behaviour sanitizers
	+@$(ASAN) build-unit build-feeders build-libfuzzer build-whole
	@$(RUN) asan fuzz
	@KRAIT=build-asan/krait-whole tests/run/whole

check-asan-whole: all ## agent, dump, top, exec and record, once each on a real process, under the sanitizers
	+@$(ASAN) build-whole
	@KRAIT=build-asan/krait-whole tests/run/whole

check-fuzz: ## every fuzzer for a second, with libFuzzer
	+@$(FUZZ_SHORT) build-fuzzers
	@$(RUN) --all fuzz

check-root: all build-bpf-tests ## in-kernel tests: root and BPF
	@$(RUN) bpf

check-e2e: all build-replay build-pages ## end to end: real interpreters, real output
	@$(RUN) e2e

# Tests that run on every interpreter; the others take only the newest, and do not depend on which.
NOGIL_TESTS := /test_(stacks|threads|nogil|dwarf|list|discovery|late|embedded|children|native|formats|$\
	dwarf_offsets|process|symbolizer_live|linetable)(\.py)?$$

check-nogil: all build-unit ## free-threaded interpreters, built once (5 minutes each), and tests on them
	@scripts/install-deps all
	@scripts/install-deps nogil
	@scripts/pythons-nogil
	@KRAIT_KINDS='^(nogil-|refs)' O=$(O) V=$(V) T='$(or $(T),$(NOGIL_TESTS))' scripts/run-tests unit e2e

check-truth: all ## is it true? targets that account for themselves, on every interpreter
	@KRAIT_TRUTH=long KRAIT_TEST_SECS=1800 $(RUN) --all truth

check-attack: all build-attack ## is it safe? hostile programs and files, and bystanders; KRAIT_FULL=1: longer and larger
	@$(RUN) attack

check-vm: all build-bpf-tests $(O)/tests/bpf/verifier_stats ## the same on Debian's kernels 5.10 to sid's, in QEMU
	@scripts/install-deps vm
	@O=$(O) V=$(V) scripts/vm

check-arm64: ## for arm64, on x86-64: builds, unit tests by qemu-user, and its kernels 5.10 to sid's in QEMU
	@scripts/install-deps cross vm
	+@scripts/cross all build-unit build-bpf-tests build-arm64/tests/bpf/verifier_stats
	@scripts/cross --units
	@V=$(V) scripts/vm arm64 arm64-5.10 arm64-6.1 arm64-16k

# The tests that read arm64's code, and some that replay sessions.
CROSS_TESTS := a64_rows code_rows made_rows abi replay_native replay_tables

check-cross: ## what of that takes a minute: it builds without warnings, and some unit tests pass
	@scripts/install-deps cross
	+@WERROR=1 scripts/cross all build-bpf-tests $(CROSS_TESTS:%=build-arm64/tests/unit/test_%)
	@scripts/cross --units $(CROSS_TESTS)

check-compilers: $(O)/tests/bpf/verifier_stats ## build with every clang and gcc of Debian 12, 13 and sid, and load that on kernels 5.10 to sid's
	@scripts/install-deps vm
	@O=$(O) scripts/matrix compilers

check-compiler: $(O)/tests/bpf/verifier_stats ## build the BPF object with one of this Debian's other clangs, in turn, and load it here
	@O=$(O) scripts/matrix turn

check-distributions: ## make demo from nothing on Debian 12, 13 and sid; CHECK=1: make check, too
	@scripts/install-deps pythons
	@O=$(O) scripts/matrix distributions $(if $(CHECK),--check)

$(O)/tests/bpf/verifier_stats: $(O)/tests/bpf/verifier_stats.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_FLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

$(O)/tests/bench/rows_cost: $(O)/tests/bench/rows_cost.o $(O)/libkrait.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_FLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

verify: $(BPF_O)/bpf/krait.bpf.o $(O)/tests/bpf/verifier_stats ## growth of the BPF programs; UPDATE=1 accepts it
	@UPDATE=$(UPDATE) scripts/verify $(O)/tests/bpf/verifier_stats $(BPF_O)/bpf/krait.bpf.o

bench: all ## krait beside other profilers, into docs/MEASUREMENTS.md (half an hour, quiet machine); B='--quick' and other options
	@O=$(O) scripts/bench $(or $(B),--page)

$(FEED_BIN): $(O)/tests/fuzz/feed_%: $(O)/tests/fuzz/fuzz_%.o $(FEEDER_SRC:%.c=$(O)/%.o) $(O)/libkrait.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_FLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# Runs each test (scripts/run-tests).
$(O)/tests/run/contain: $(wildcard tests/run/*.[ch])
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g1 $(WARN_USER) -D_GNU_SOURCE -Iuser $(filter %.c,$^) -o $@

# The fuzzer that needs a single source: each make check-asan proves with it that libFuzzer works with our fuzzers.
$(O)/tests/fuzz/libfuzzer_printable: tests/fuzz/fuzz_printable.c user/base/text/printable.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -std=gnu11 -O1 -g1 $(DEFINES) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $^ -o $@

$(FUZZ_BIN): $(O)/%: $(O)/%.o $(O)/libkrait.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_FLAGS) -fsanitize=fuzzer $(LDFLAGS) $^ $(LIBS) -o $@

fuzz: ## run every fuzzer for FUZZ_SECS seconds
	+@$(FUZZ_LONG) build-fuzzers
	@T='$(T)' scripts/run-tests --fuzz $(FUZZ_SECS) $(FUZZ_SRC:%.c=build-fuzz/%)

coverage: ## line coverage of the unit tests; fails where too little of some folders is tested
	+@$(COV) build-unit
	@$(RUN) cov
	@scripts/run-tests --coverage build-cov

# What make would do to compile each file.
compile_commands.json: $(SKEL) $(PROTO_HDR) $(TWIN_SKEL) ## for clangd and other tools: how each file is compiled
	$(call say,LIST,$@)
	$(Q)$(MAKE) -Bnk V=1 O=$(O) all build-unit build-bpf-tests build-fuzzers | awk -v folder='$(CURDIR)' ' \
		/ -c [^ ]+\.c / { file = $$0; sub(/.* -c /, "", file); sub(/ .*/, "", file); gsub(/["\\]/, "\\\\&"); \
			printf "%s{ \"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\" }", n++ ? ",\n" : "[\n", folder, file, $$0 } \
		END { print "\n]" }' > $@

# Each header of bpf/ includes what it uses, so the compiler takes it by itself. -w: what is declared is defined elsewhere.
BPF_ALONE := $(patsubst %.h,$(O)/alone/%,$(filter-out %.skel.h,$(wildcard bpf/*.h bpf/*/*.h)))
$(BPF_ALONE): $(O)/alone/%: %.h
	$(call say,ALONE,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -w -fsyntax-only -MMD -MF $@.d -MT $@ -x c $< && touch $@

bpf-alone: $(BPF_ALONE)

lint: ## formatting, shell scripts, links between pages, direction of includes
	@scripts/lint

format: ## rewrite the C sources in the project's format
	@scripts/lint --fix

# ---- the rest ---------------------------------------------------------------------------------

demo: ## profile a small program, everything from nothing
	+@O=$(O) scripts/demo

# A page of krait, of each command, and of the agent's configuration, from what its commands say of themselves.
$(O)/man/krait.1: $(O)/krait scripts/man deploy/agent.conf
	$(call say,MAN,$(@D))
	@rm -rf $(@D) && mkdir -p $(@D)
	$(Q)scripts/man $(@D) $(EMULATOR) $<

MAN := $(PREFIX)/share/man
# Where each shell looks for files of packages.
BASH := $(PREFIX)/share/bash-completion/completions
ZSH := $(PREFIX)/share/zsh/site-functions
FISH := $(PREFIX)/share/fish/vendor_completions.d

install: all $(O)/man/krait.1 ## install into $(DESTDIR)$(PREFIX)
	$(INSTALL) -D -m 755 $(O)/krait $(DESTDIR)$(PREFIX)/bin/krait
	$(INSTALL) -d $(DESTDIR)$(MAN)/man1 $(DESTDIR)$(MAN)/man5
	$(INSTALL) -m 644 $(O)/man/*.1 $(DESTDIR)$(MAN)/man1
	$(INSTALL) -m 644 $(O)/man/*.5 $(DESTDIR)$(MAN)/man5
	$(INSTALL) -D -m 644 deploy/completion/krait.bash $(DESTDIR)$(BASH)/krait
	$(INSTALL) -D -m 644 deploy/completion/_krait $(DESTDIR)$(ZSH)/_krait
	$(INSTALL) -D -m 644 deploy/completion/krait.fish $(DESTDIR)$(FISH)/krait.fish

# Units, and the agent's example configuration, with the paths of a package, which has krait in $(PREFIX)/bin and the
# files that the example mentions in EXAMPLES; units without the lines that say how to install them by hand.
EXAMPLES ?= $(PREFIX)/share/doc/krait

agent-files: # for deploy/debian and deploy/rpm
	@mkdir -p $(O)/agent-files
	sed 's|(deploy/\([a-z]*.yaml\))|($(EXAMPLES)/\1)|' deploy/agent.conf >$(O)/agent-files/agent.conf
	sed '/^#   /d; /^#$$/d; s|/usr/local/bin|$(PREFIX)/bin|; s|deploy/agent.conf|/etc/krait/agent.conf|' \
		deploy/krait-agent.service >$(O)/agent-files/krait-agent.service
	for unit in krait-broker.socket krait-broker.service krait-broker-all.socket; do \
		sed '/^#   /d; /^#$$/d; s|/usr/local/bin|$(PREFIX)/bin|' deploy/$$unit >$(O)/agent-files/$$unit; done

uninstall: ## remove what install put there
	$(RM) $(DESTDIR)$(PREFIX)/bin/krait $(DESTDIR)$(MAN)/man1/krait.1 $(DESTDIR)$(MAN)/man1/krait-*.1 \
		$(DESTDIR)$(MAN)/man5/krait-agent.conf.5 \
		$(DESTDIR)$(BASH)/krait $(DESTDIR)$(ZSH)/_krait $(DESTDIR)$(FISH)/krait.fish

# Each machine's, in a build folder of its own but for this one's.
DIST_SKEL := $(patsubst %,$(O)/dist/krait.%.skel.h,x86 arm64)
DIST_BPF_O = $(if $(filter $*,$(BPF_ARCH)),$(BPF_O),$(O)/dist/$*)
$(DIST_SKEL): $(O)/dist/krait.%.skel.h: always
	@mkdir -p $(@D)
	+@$(MAKE) O=$(O) BPF_O=$(DIST_BPF_O) ARCH=$(*:x86=x86_64) $(DIST_BPF_O)/gen/krait.skel.h
	@cp $(DIST_BPF_O)/gen/krait.skel.h $@

dist: $(DIST_SKEL) ## krait-VERSION.tar.gz of the committed tree and its compiled BPF programs: builds without clang
	@git diff --quiet HEAD -- bpf vmlinux || { echo 'krait: dist: bpf/ differs from the commit' >&2; exit 1; }
	git archive --prefix=krait-$(VERSION)/bpf/ $(DIST_SKEL:%=--add-file=%) \
		--prefix=krait-$(VERSION)/ -o krait-$(VERSION).tar.gz HEAD

# Each first installs what it needs, and so has what it tries made by another make.
check-dist: ## build the tarball without clang on Debian 12, 13 and sid
	@scripts/install-deps build packages
	+@$(MAKE) dist
	@O=$(O) scripts/check-packages dist

deb: dist ## krait_VERSION_ARCH.deb for the Debian that runs here, in build/deb; needs debhelper
	@O=$(O) scripts/deb

SUITES ?= bookworm trixie sid

check-deb: ## packages of Debian 12, 13 and sid, built there; installs, upgrades, purges them
	@scripts/install-deps build packages deb
	+@$(MAKE) dist
	@O=$(O) scripts/deb $(SUITES)
	@O=$(O) SUITES='$(SUITES)' scripts/check-packages deb

# Debian's rpmbuild knows no package that is installed, and has no tools for debug packages.
RPM_FLAGS := $(if $(wildcard /etc/debian_version),--nodeps --define 'debug_package %{nil}' --define '_docdir /usr/share/doc')

rpm: dist ## krait-VERSION.rpm of deploy/rpm/krait.spec, in build/rpm; needs rpmbuild
	@command -v rpmbuild >/dev/null || { echo 'krait: rpm: rpmbuild is missing (scripts/install-deps rpm)' >&2; exit 1; }
	@rm -rf $(O)/rpm && mkdir -p $(O)/rpm/SOURCES
	@cp krait-$(VERSION).tar.gz $(O)/rpm/SOURCES
	@env -u MAKEFLAGS -u O rpmbuild -bb --quiet $(RPM_FLAGS) --define '_topdir $(abspath $(O))/rpm' --define 'krait_version $(VERSION)' \
		deploy/rpm/krait.spec >$(O)/rpm/log 2>&1 || { tail -n 20 $(O)/rpm/log >&2; exit 1; }
	@echo "krait: rpm: wrote $$(echo $(O)/rpm/RPMS/*/*.rpm)"

check-rpm: ## the same, installed into a folder, upgraded and erased
	@scripts/install-deps build packages rpm
	+@$(MAKE) rpm
	@O=$(O) scripts/check-packages rpm

STATIC_O := build-static$(if $(filter arm64,$(ARCH)),-arm64)
# What is for arm64 is tried in its machine.
try = $(if $(filter arm64,$(ARCH)),scripts/vm --parts packages arm64,O=$(STATIC_O) scripts/check-packages $(1))

static: ## build-static/dist/krait: one file for every Linux from 5.10; root, and Debian's archive
	@scripts/static

check-static: ## the same, tried where nothing but busybox is and on Debian 11 to sid, built twice
	@scripts/install-deps packages
	@scripts/static
	@O=$(STATIC_O)-again scripts/static && cmp $(STATIC_O)/dist/krait $(STATIC_O)-again/dist/krait
	@$(call try,static)

wheel: static ## build-static/dist/krait_profiler-VERSION-....whl for pip: the static file, python -m krait, %%krait
	@python3 deploy/python/wheel.py $(VERSION) $(STATIC_O)/dist/krait $(STATIC_O)/dist/LICENSES $(STATIC_O)/dist

check-wheel: ## the same, installed into a fresh environment of each Python, and in a notebook's kernel
	@scripts/install-deps packages wheel
	+@$(MAKE) wheel
	@$(call try,wheel)

# docker and podman read it with "load".
image: static ## build-static/dist/krait-VERSION.oci.tar: a container image of the static file and nothing else
	@scripts/install-deps image
	@scripts/image $(VERSION) $(STATIC_O)/dist

check-image: ## the same, run as a container with the rights that deploy/kubernetes.yaml gives
	@scripts/install-deps packages
	+@$(MAKE) image
	@$(call try,image)

clean: ## remove everything built
	$(RM) -r build build-arm64 build-static build-static-again build-static-arm64 build-static-arm64-again build-asan build-tsan build-debug build-cov build-fuzz build-fuzz-short $(filter-out . ..,$(O))

help: ## this text
	@sed -n '/^#   /s/^#   /  /p' Makefile
	@echo
	@sed -n 's/^\([a-z][a-z0-9-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
		while IFS='|' read -r t h; do printf '  make %-12s %s\n' "$$t" "$$h"; done

-include $(O)/small/room.d $(BPF_ALONE:=.d) $(BPF_OBJ:.o=.d) $(TWIN_OBJ:.o=.d) $(LIB_OBJ:.o=.d) $(MAIN_OBJ:.o=.d) $(patsubst %.c,$(O)/%.d,$(LEFT_OUT)) $(TEST_OBJ:.o=.d)

.PHONY: always check-arm64 check-cross all demo check check-all check-built interpreters check-attack check-fuzz check-unit check-asan check-root check-e2e check-nogil check-vm check-compiler verify bench fuzz \
	coverage lint format compile_commands.json build-unit build-bpf-tests build-fuzzers build-feeders build-libfuzzer build-tests build-attack build-replay build-pages bpf-alone install agent-files uninstall dist check-dist deb check-deb rpm check-rpm static check-static wheel check-wheel image check-image clean help
