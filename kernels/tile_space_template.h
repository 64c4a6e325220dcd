// A space of tiles: its parameters, which tiles are legal, which of them are worth searching, where a search starts.
// One template serves every schedule. `Tiles` is a struct of ints; `Context` is what the answers depend on besides the
// tiles, such as the machine, the shape or the kind of kernel. Pure functions without Halide: the generator programs,
// the configuration reader and the tuner ask the same space.
#pragma once

#include "tile_parameter.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

namespace flashwright {

template <typename Tiles, typename Context>
struct TileSpaceOf {
    struct Parameter : TileParameterOf<Tiles> {
        std::vector<int> (*values)(const Context &);  // that the tuner tries, ascending
    };
    using Rule = std::string (*)(const Tiles &, const Context &);

    std::vector<Parameter> parameters;  // in the order of configuration files
    // The first broken rule as a sentence; empty if none is broken.
    Rule illegal;           // asked only for tiles of at least 1
    Rule not_worth_trying;  // asked only for legal tiles
    // Legal tiles that a model of the machine would choose, best first.
    std::vector<Tiles> (*starts)(const Context &);
    // Tiles whose members besides the parameters are set; null: they have none.
    Tiles (*blank)(const Context &) = nullptr;

    // Why a generator program refuses these tiles; empty: it takes them.
    std::string why_illegal(const Tiles &tiles, const Context &context) const {
        for (const Parameter &parameter : parameters) {
            if (tiles.*parameter.member < 1) return broken_rule(parameter.name, "at least 1", tiles.*parameter.member);
        }
        return illegal(tiles, context);
    }

    // Why a tuner leaves these tiles out; empty: it may try them.
    std::string why_not_searched(const Tiles &tiles, const Context &context) const {
        const std::string why = why_illegal(tiles, context);
        return why.empty() ? not_worth_trying(tiles, context) : why;
    }
    bool worth_searching(const Tiles &tiles, const Context &context) const {
        return why_not_searched(tiles, context).empty();
    }

    // All tiles that are worth searching, in lexicographic order.
    std::vector<Tiles> choices(const Context &context) const {
        std::vector<Tiles> all = {blank_of(context)};
        for (const Parameter &parameter : parameters) {
            std::vector<Tiles> longer;
            const std::vector<int> values = parameter.values(context);
            for (Tiles tiles : all) {
                for (const int value : values) {
                    tiles.*parameter.member = value;
                    longer.push_back(tiles);
                }
            }
            all.swap(longer);
        }
        std::vector<Tiles> chosen;
        std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
                     [&](const Tiles &tiles) { return worth_searching(tiles, context); });
        return chosen;
    }

    // Tiles as the values of the parameters, in their order, and back.
    std::vector<int> point_of(const Tiles &tiles) const {
        std::vector<int> point;
        for (const Parameter &parameter : parameters) point.push_back(tiles.*parameter.member);
        return point;
    }
    Tiles tiles_of(const std::vector<int> &point, const Context &context) const {
        Tiles tiles = blank_of(context);
        for (std::size_t p = 0; p < parameters.size(); ++p) tiles.*parameters[p].member = point[p];
        return tiles;
    }

 private:
    Tiles blank_of(const Context &context) const { return blank != nullptr ? blank(context) : Tiles{}; }
};

}  // namespace flashwright
