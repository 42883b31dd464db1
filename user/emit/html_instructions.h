/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_instructions.h - what the places within lines took, for a page (profile/spots.h): columns, and opcodes where
 * they were recorded.
 */
#ifndef KRAIT_EMIT_HTML_INSTRUCTIONS_H
#define KRAIT_EMIT_HTML_INSTRUCTIONS_H

#include <stdio.h>

#include "profile/view.h"

/*
 * Members of an object, each with a comma behind it: "opcodes": names; "opcodeForms": what each is
 * (opcode_form_name()); "instructions": five numbers a place, in the order of the first two: FRAME, COLUMN,
 * END_COLUMN, OPCODE, SELF. FRAME is the frame of the view, which is one by lines; OPCODE an index into opcodes; -1 is
 * unknown; SELF as spot.self. 0 or -ENOMEM.
 */
int html_put_instructions(FILE *out, const struct counts *c, const struct view *v)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_HTML_INSTRUCTIONS_H */
