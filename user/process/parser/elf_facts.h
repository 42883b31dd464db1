/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_facts.h - what ELF files say about a Python runtime or a published table in them. Parsers
 * (parser.h) read them, because nobody vouches for the files, and the caller has rights.
 *
 * Two parsers are kept, one of them for root's files: whatever another user's file does to a parser
 * can affect answers about that user's kind of files only.
 *
 * Must hold: a read ends, as a parser's job does.
 */
#ifndef KRAIT_PROCESS_PARSER_ELF_FACTS_H
#define KRAIT_PROCESS_PARSER_ELF_FACTS_H

#include "process/elf/elf_runtime.h"
#include "process/elf/elf_table.h"
#include "process/parser/parser_protocol.h"

struct elf_facts;
struct parsers;

/* The parsers are borrowed. NULL: out of memory. */
struct elf_facts *elf_facts__new(struct parsers *parsers)
	__attribute__((warn_unused_result, nonnull));
/* Starts now what the first file would start. */
void elf_facts__prepare(struct elf_facts *f) __attribute__((nonnull));
void elf_facts__free(struct elf_facts *f);

/*
 * Sets a function to call while a read waits for a processor or a parser's start, but not for the
 * file.
 */
void elf_facts__on_wait(struct elf_facts *f, void (*fn)(void *ctx), void *ctx)
	__attribute__((nonnull(1)));

/*
 * Reads a file, as elf_runtime_read(). Also -ENOEXEC: it kills parsers; -EAGAIN: there is no
 * parser; -ETIMEDOUT: it takes too long, or hangs.
 */
int elf_facts__read(struct elf_facts *f, int fd, struct elf_runtime *ret)
	__attribute__((warn_unused_result, nonnull));

/* The same for what a process's memory has of a file (mapped_image.h): no owner vouches for it. */
int elf_facts__read_image(struct elf_facts *f, int fd, struct elf_runtime *ret)
	__attribute__((warn_unused_result, nonnull));

/* The same for a table besides the runtime's, as elf_table_read(). */
int elf_facts__table(struct elf_facts *f, int fd, enum published_kind kind, struct elf_table *ret)
	__attribute__((warn_unused_result, nonnull));

/* The same for places of a probe, as probe_places(). */
int elf_facts__probe(struct elf_facts *f, int fd, enum probe_kind kind, const char *name,
		     struct parser_probes *ret) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PROCESS_PARSER_ELF_FACTS_H */
