#include "kernel_catalogue.h"

#include <algorithm>

namespace flashwright {
namespace {

bool takes_name(const std::vector<std::string> &list, const std::string &name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

std::string ids_of(const KernelEntry &entry) {
    std::string ids;
    for (const KernelVariant &variant : entry.variants) ids += (ids.empty() ? "" : ", ") + variant.id;
    return ids;
}

void check_reference(const KernelEntry &entry, const std::string &id, const std::string &place) {
    if (entry.find_variant(id) == nullptr)
        throw ConfigurationError(place + ": expected the id of a variant of " + entry.name() + " (" + ids_of(entry) +
                                 "), got \"" + id + "\"");
}

void merge(KernelEntry &entry, const KernelEntry &news) {
    for (const KernelVariant &variant : news.variants) {
        const auto known = std::find_if(entry.variants.begin(), entry.variants.end(),
                                        [&](const KernelVariant &v) { return v.id == variant.id; });
        if (known == entry.variants.end())
            entry.variants.push_back(variant);
        else
            *known = variant;
    }
    entry.default_id = news.default_id;
    entry.default_place = news.default_place;
    entry.table = news.table;
}

void check_references(const KernelEntry &entry) {
    check_reference(entry, entry.default_id, entry.default_place);
    if (entry.find_variant(entry.default_id)->schedule->schedule == Schedule::generic)
        throw ConfigurationError(entry.default_place + ": default: expected a variant that is not generic, got \"" +
                                 entry.default_id + "\"");
    for (const TunedShape &row : entry.table) check_reference(entry, row.variant, row.place);
}

}  // namespace

bool KernelFilter::takes(const KernelEntry &entry) const {
    return takes_name(ops, op_name(entry.op)) && takes_name(dtypes, entry.dtype->name) &&
           takes_name(isas, entry.isa->name);
}

void KernelCatalogue::add(const Configuration &configuration) {
    for (const KernelEntry &news : configuration.entries) {
        if (!filter_.takes(news)) continue;
        if (news.isa->processor != filter_.processor) {
            if (std::find(skipped_isas_.begin(), skipped_isas_.end(), news.isa->name) == skipped_isas_.end())
                skipped_isas_.emplace_back(news.isa->name);
            continue;
        }
        auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const KernelEntry &known) { return known.same_kernels(news); });
        if (entry == entries_.end())
            entry = entries_.insert(entries_.end(), news);
        else
            merge(*entry, news);
        check_references(*entry);
        std::stable_partition(entry->variants.begin(), entry->variants.end(),
                              [&](const KernelVariant &variant) { return variant.id == entry->default_id; });
    }
}

const KernelEntry *KernelCatalogue::find(const KernelEntry &like) const {
    for (const KernelEntry &entry : entries_)
        if (entry.same_kernels(like)) return &entry;
    return nullptr;
}

std::string KernelCatalogue::what_is_missing() const {
    if (entries_.empty()) return "expected a kernel for this processor (" + filter_.processor + "), got none";
    for (const KernelEntry &entry : entries_) {
        KernelEntry needed = {};
        needed.dtype = entry.dtype;
        needed.isa = entry.isa;
        for (const OpRow &op : kOps) {
            if (!takes_name(filter_.ops, op.name)) continue;
            needed.op = op.op;
            needed.terms = op.has_terms ? all_terms() : 0;
            const KernelEntry *found = find(needed);
            if (found == nullptr)
                return "expected the entry " + needed.name() + ", which " + entry.name() + " needs, got none";
            const auto &variants = found->variants;
            const bool any_shape = std::any_of(variants.begin(), variants.end(), [](const KernelVariant &variant) {
                return variant.schedule->schedule == Schedule::generic;
            });
            if (op.op == Op::forward && !any_shape)
                return "expected a variant of " + needed.name() + " with \"schedule\": \"generic\", got none";
        }
    }
    return {};
}

}  // namespace flashwright
