// Score terms that a kernel may hold besides scale and position: one row each, in the order of kernel names.
// What a term does: algorithm/score_terms.h.
#pragma once

#include <string_view>

namespace flashwright {

enum Terms : unsigned { kSoftcap = 1, kAlibi = 2, kBias = 4, kMask = 8 };

struct ScoreTermRow {
    Terms bit;
    const char *name;
    bool masks_by_memory;  // which keys it masks is in memory: no key is known to be unmasked
};

constexpr ScoreTermRow kScoreTerms[] = {
    {kSoftcap, "softcap", false}, {kAlibi, "alibi", false}, {kBias, "bias", true}, {kMask, "mask", true}};

// Null for a name that is no term's.
constexpr const ScoreTermRow *find_score_term(std::string_view name) {
    for (const ScoreTermRow &row : kScoreTerms)
        if (name == row.name) return &row;
    return nullptr;
}

constexpr unsigned all_terms() {
    unsigned terms = 0;
    for (const ScoreTermRow &row : kScoreTerms) terms |= row.bit;
    return terms;
}

constexpr unsigned terms_that_mask_by_memory() {
    unsigned terms = 0;
    for (const ScoreTermRow &row : kScoreTerms) terms |= row.masks_by_memory ? row.bit : 0U;
    return terms;
}

// With one of these terms every key has to be tested.
constexpr unsigned kTestEveryKey = terms_that_mask_by_memory();

}  // namespace flashwright
