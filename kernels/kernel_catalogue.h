// The kernels that several configuration files have together. A later file adds to the entries of an earlier one: of
// the same operation, element type, instruction set and terms it replaces variants by id, the default and the table.
#pragma once

#include "configuration.h"

#include <string>
#include <vector>

namespace flashwright {

// Which entries are taken; an empty list takes all.
struct KernelFilter {
    std::string processor;  // as CMAKE_SYSTEM_PROCESSOR
    std::vector<std::string> ops, dtypes, isas;

    bool takes(const KernelEntry &entry) const;
};

class KernelCatalogue {
 public:
    explicit KernelCatalogue(KernelFilter filter) : filter_(std::move(filter)) {}

    // Throws ConfigurationError if a default or a row names a variant that no file has, or that may not be there.
    void add(const Configuration &configuration);

    // What the library falls back on is missing: an entry of each operation, with all terms where it has terms, and a
    // generic forward variant, for each element type and instruction set that occurs. Empty if all is there.
    std::string what_is_missing() const;

    // In the order of the files; of each entry the baseline comes first.
    const std::vector<KernelEntry> &entries() const { return entries_; }
    // Configured, but for another processor.
    const std::vector<std::string> &skipped_isas() const { return skipped_isas_; }

 private:
    const KernelEntry *find(const KernelEntry &like) const;

    KernelFilter filter_;
    std::vector<KernelEntry> entries_;
    std::vector<std::string> skipped_isas_;
};

}  // namespace flashwright
