/* The Mersenne Twister of 624 words: pairs of its numbers compared with a share, many at a time. */

typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;

#define WORDS 624
#define AHEAD 397
#define LANES 16

typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef uint32_t words_any __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint64_t pairs __attribute__((vector_size(4 * LANES)));
typedef uint64_t pairs_any __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t halves __attribute__((vector_size(2 * LANES)));
typedef uint16_t quarters __attribute__((vector_size(LANES)));
typedef uint8_t bytes_any __attribute__((vector_size(LANES / 2), aligned(1), may_alias));

/* What becomes of word i, given the next one, and one of long ago. */
static inline uint32_t twisted(uint32_t word, uint32_t next, uint32_t other)
{
    return other ^ (((word & 0x80000000u) | (next & 0x7fffffffu)) >> 1) ^ (-(next & 1) & 0x9908b0dfu);
}

static inline void twist(uint32_t *state, int first, int end, int distance)
{
    int i = first;
    for (; i + LANES <= end; i += LANES) {
        words word = *(words_any *)(state + i), next = *(words_any *)(state + i + 1);
        words other = *(words_any *)(state + i + distance);
        *(words_any *)(state + i) =
            other ^ (((word & 0x80000000u) | (next & 0x7fffffffu)) >> 1) ^ (-(next & 1) & 0x9908b0dfu);
    }
    for (; i < end; i++)
        state[i] = twisted(state[i], state[i + 1], state[i + distance]);
}

static void next_words(uint32_t *state)
{
    twist(state, 0, WORDS - AHEAD, AHEAD);
    twist(state, WORDS - AHEAD, WORDS - 1, AHEAD - WORDS);
    state[WORDS - 1] = twisted(state[WORDS - 1], state[0], state[AHEAD - 1]);
}

/* The numbers that words are shown as; room for a whole vector more is there. */
static void tempered(const uint32_t *state, uint32_t *numbers, int count)
{
    for (int i = 0; i < count; i += LANES) {
        words y = *(words_any *)(state + i);
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        *(words_any *)(numbers + i) = y ^ (y >> 18);
    }
}

/* Of `count` pairs of numbers, the first being the upper half: whether the last 53 bits are below a limit. */
static void compared(const uint32_t *numbers, uint64_t limit, uint8_t *out, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES / 2 <= count; i += LANES / 2) {
        pairs x = *(pairs_any *)(numbers + 2 * i);
        x = ((x << 32) | (x >> 32)) & ((1ull << 53) - 1);
        halves below = __builtin_convertvector((x - limit) >> 63, halves);
        *(bytes_any *)(out + i) = __builtin_convertvector(__builtin_convertvector(below, quarters), bytes_any);
    }
    for (; i < count; i++) {
        uint64_t x = ((uint64_t)numbers[2 * i] << 32 | numbers[2 * i + 1]) & ((1ull << 53) - 1);
        out[i] = x < limit;
    }
}

/* Draws `count` truths, each from the next two numbers; returns the place of the first word that is not used. */
int64_t draw(uint64_t *stored, int64_t place, uint64_t limit, uint8_t *out, int64_t count)
{
    uint32_t state[WORDS + LANES], numbers[1 + WORDS + LANES];
    int carried = 0;
    for (int i = 0; i < WORDS; i++)
        state[i] = (uint32_t)stored[i];
    while (count > 0) {
        if (place == WORDS) {
            next_words(state);
            place = 0;
        }
        tempered(state + place, numbers + carried, WORDS - place);
        int64_t total = carried + WORDS - place, drawn = total / 2 < count ? total / 2 : count;
        compared(numbers, limit, out, drawn);
        out += drawn;
        count -= drawn;
        place += 2 * drawn - carried;
        if (count > 0) {
            carried = total & 1;
            if (carried)
                numbers[0] = numbers[total - 1];
            place = WORDS;
        }
    }
    for (int i = 0; i < WORDS; i++)
        stored[i] = state[i];
    return place;
}
