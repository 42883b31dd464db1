/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_fetches.h - symbols of stripped files from debuginfod servers, while krait records.
 *
 * A file is requested once, when somebody wants names from it; a few at a time. Its names are worth
 * waiting for until the answer arrives (symbol_fetches__may_come()).
 *
 * Must hold: nothing here waits. At most SYMBOL_FETCHES_MAX files are requested, each for as long
 * as fetcher.h says.
 */
#ifndef KRAIT_NATIVE_NAMES_SYMBOL_FETCHES_H
#define KRAIT_NATIVE_NAMES_SYMBOL_FETCHES_H

#include <stdbool.h>

#define SYMBOL_FETCHES_MAX 256U

struct module;
struct native_files;
struct symbol_fetches;

/* NULL: out of memory. */
struct symbol_fetches *symbol_fetches__new(struct native_files *files)
	__attribute__((warn_unused_result, nonnull));
/* Stops pending requests. */
void symbol_fetches__free(struct symbol_fetches *s);

/*
 * For a file whose own symbols have been read: may better ones still come? Also notes that they are
 * wanted.
 */
bool symbol_fetches__may_come(struct symbol_fetches *s, struct module *module)
	__attribute__((nonnull));
/* Takes answers, and sends the next requests. */
void symbol_fetches__step(struct symbol_fetches *s) __attribute__((nonnull));
/* Files whose answers are still to come. */
unsigned symbol_fetches__left(const struct symbol_fetches *s) __attribute__((nonnull));

#endif /* KRAIT_NATIVE_NAMES_SYMBOL_FETCHES_H */
