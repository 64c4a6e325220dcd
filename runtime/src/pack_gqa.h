// Decoding with grouped-query attention: one query per head, and several query heads per key head.
#pragma once

#include "validate.h"

namespace flashwright {

// Packs the queries of the heads that share K and V as rows of one head (`one_position`), so that they share tiles and
// read the keys once. Returns false, without a result, if seqlen_q is not 1, the queries attend to different keys
// (ALiBi or a left window), or they span too many elements.
bool pack_gqa(const ForwardProblem &problem, ForwardProblem *packed);

}  // namespace flashwright
