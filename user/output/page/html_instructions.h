/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_instructions.h - samples of places within lines, for a page (profile/spots.h): columns, and
 * opcodes if they were recorded.
 */
#ifndef KRAIT_OUTPUT_PAGE_HTML_INSTRUCTIONS_H
#define KRAIT_OUTPUT_PAGE_HTML_INSTRUCTIONS_H

#include <stdio.h>

#include "profile/view.h"

/*
 * Writes members of an object, each followed by a comma: "opcodes": names; "opcodeForms": the form
 * of each (opcode_form_name()); "instructions": five numbers per place, sorted by the first two:
 * FRAME, COLUMN, END_COLUMN, OPCODE, SELF. FRAME is a frame of the view, which is by lines; OPCODE
 * is an index into opcodes; -1 is unknown; SELF is spot.self. Returns 0 or -ENOMEM.
 */
int html_put_instructions(FILE *out, const struct counts *c, const struct view *v)
	__attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_PAGE_HTML_INSTRUCTIONS_H */
