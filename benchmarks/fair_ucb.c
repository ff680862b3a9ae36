/* Fair-UCB as one would write it in C: the quota rule in 64-bit integers, then the plain UCB1 index of every arm in every
   round. Patil, Ghalme, Nair, Narahari (2021), Algorithm 1 with UCB1; rewards are Bernoulli, drawn by xoshiro256+. */

#include <math.h>
#include <stdint.h>

static double uniform(uint64_t *s) {
    uint64_t result = s[0] + s[3], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return (double)(result >> 11) * 0x1p-53;
}

/* Shares are numerators / denominator; pulls and sums (arms) start at zero, stream (4) is the generator's state. */
void fair_ucb(int64_t rounds, int64_t arms, const int64_t *numerators, int64_t denominator, int64_t tolerance,
              const double *means, uint64_t *stream, int64_t *pulls, double *sums) {
    for (int64_t t = 1; t <= rounds; t++) {
        int64_t arm = -1, most = tolerance * denominator;
        for (int64_t i = 0; i < arms; i++) {
            int64_t behind = numerators[i] * (t - 1) - pulls[i] * denominator;
            if (behind > most) {
                most = behind;
                arm = i;
            }
        }
        if (arm < 0) {
            double highest = -1.0;
            for (int64_t i = 0; i < arms; i++) {
                double index = pulls[i] ? sums[i] / pulls[i] + sqrt(2.0 * log((double)t) / pulls[i]) : INFINITY;
                if (index > highest) {
                    highest = index;
                    arm = i;
                }
            }
        }
        sums[arm] += uniform(stream) < means[arm] ? 1.0 : 0.0;
        pulls[arm]++;
    }
}
