// A BERT encoder that turns sentences into vectors whose dot products say how alike they are (Devlin et al. 2019;
// Reimers and Gurevych 2019). Its attention is flashwright's.
#pragma once

#include "layers.h"
#include "word_piece.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

class SafetensorsFile;

class SentenceEncoder {
 public:
    // A folder with config.json, sentence_bert_config.json, vocab.txt and model.safetensors. Throws std::runtime_error,
    // as embed does.
    explicit SentenceEncoder(const std::string &folder);

    std::vector<std::int32_t> tokens(const std::string &sentence) const {
        return word_piece_.encode(sentence, longest_);
    }

    // One row of width() values a sentence, of Euclidean length 1. The sentences, as token ids, make one batch.
    std::vector<float> embed(const std::vector<std::vector<std::int32_t>> &sentences) const;

    std::size_t width() const { return width_; }

 private:
    struct Layer {
        Linear qkv, attention_output, intermediate, output;
        LayerNorm attention_norm, output_norm;
    };
    struct Batch;

    Layer read_layer(SafetensorsFile &file, const std::string &prefix, std::size_t intermediate_width) const;
    LayerNorm read_norm(SafetensorsFile &file, const std::string &name) const;
    void look_up(const std::vector<std::vector<std::int32_t>> &sentences, Batch &batch) const;
    void attend(const Layer &layer, Batch &batch) const;
    void feed_forward(const Layer &layer, Batch &batch) const;
    std::vector<float> pool(const Batch &batch) const;

    WordPiece word_piece_;
    std::size_t longest_ = 0, width_ = 0, heads_ = 0;
    float epsilon_ = 0;
    std::vector<float> words_, positions_, type_;
    LayerNorm embedding_norm_;
    std::vector<Layer> layers_;
};
