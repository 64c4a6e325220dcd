// Decoding with grouped heads: one query a head, and several heads that read the same keys.
#pragma once

#include "validate.h"

namespace flashwright {

// The same attention with the queries of a group as the rows of one head (one_position), so that they share a tile and
// its keys are read once; or the problem as it is, where it is not decoding, or the queries see different keys or lie
// too far apart.
ForwardProblem with_grouped_rows(const ForwardProblem &problem);

}  // namespace flashwright
