// Decoding with grouped heads: one query a head, and several heads that read the same keys.
#pragma once

#include "validate.h"

namespace flashwright {

// Whether the queries of a group can be the rows of one head (one_position), so that they share a tile and its keys are
// read once: `grouped` is that problem then. Not where it is no decoding, or the queries see different keys or lie too
// far apart.
bool group_rows(const ForwardProblem &problem, ForwardProblem *grouped);

}  // namespace flashwright
