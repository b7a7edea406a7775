package tyrion.selfcheck;

/**
 * More than 256 local variables, so that the compiler keeps the block's lock in one that only a wide
 * instruction reaches.
 */
final class WideLocals implements SelfCheck.Check {
    private final Object lock = new Object();
    private final Object inner = new Object();

    @Override
    public void run() {
        for (int i = 0; i < 300; i++) {
            Locked.check(sum(i) == 130L * i + 1, "the sum of many locals");
            Locked.check(!Thread.holdsLock(lock) && !Thread.holdsLock(inner), "held after it");
        }
        Locked.free(lock, "lock");
        Locked.free(inner, "inner");
        Throwable thrown = Locked.thrownBy(() -> sum(-1));
        Locked.check(thrown instanceof IllegalArgumentException, "threw " + thrown);
        Locked.free(lock, "lock after a throw");
        Locked.free(inner, "inner after a throw");
    }

    private long sum(long seed) {
        long v000 = seed, v001 = seed, v002 = seed, v003 = seed, v004 = seed;
        long v005 = seed, v006 = seed, v007 = seed, v008 = seed, v009 = seed;
        long v010 = seed, v011 = seed, v012 = seed, v013 = seed, v014 = seed;
        long v015 = seed, v016 = seed, v017 = seed, v018 = seed, v019 = seed;
        long v020 = seed, v021 = seed, v022 = seed, v023 = seed, v024 = seed;
        long v025 = seed, v026 = seed, v027 = seed, v028 = seed, v029 = seed;
        long v030 = seed, v031 = seed, v032 = seed, v033 = seed, v034 = seed;
        long v035 = seed, v036 = seed, v037 = seed, v038 = seed, v039 = seed;
        long v040 = seed, v041 = seed, v042 = seed, v043 = seed, v044 = seed;
        long v045 = seed, v046 = seed, v047 = seed, v048 = seed, v049 = seed;
        long v050 = seed, v051 = seed, v052 = seed, v053 = seed, v054 = seed;
        long v055 = seed, v056 = seed, v057 = seed, v058 = seed, v059 = seed;
        long v060 = seed, v061 = seed, v062 = seed, v063 = seed, v064 = seed;
        long v065 = seed, v066 = seed, v067 = seed, v068 = seed, v069 = seed;
        long v070 = seed, v071 = seed, v072 = seed, v073 = seed, v074 = seed;
        long v075 = seed, v076 = seed, v077 = seed, v078 = seed, v079 = seed;
        long v080 = seed, v081 = seed, v082 = seed, v083 = seed, v084 = seed;
        long v085 = seed, v086 = seed, v087 = seed, v088 = seed, v089 = seed;
        long v090 = seed, v091 = seed, v092 = seed, v093 = seed, v094 = seed;
        long v095 = seed, v096 = seed, v097 = seed, v098 = seed, v099 = seed;
        long v100 = seed, v101 = seed, v102 = seed, v103 = seed, v104 = seed;
        long v105 = seed, v106 = seed, v107 = seed, v108 = seed, v109 = seed;
        long v110 = seed, v111 = seed, v112 = seed, v113 = seed, v114 = seed;
        long v115 = seed, v116 = seed, v117 = seed, v118 = seed, v119 = seed;
        long v120 = seed, v121 = seed, v122 = seed, v123 = seed, v124 = seed;
        long v125 = seed, v126 = seed, v127 = seed, v128 = seed, v129 = seed;
        synchronized (lock) {
            long more = 1;
            synchronized (inner) {
                if (seed < 0) {
                    throw new IllegalArgumentException();
                }
                Locked.has(lock, "the outer lock");
                Locked.has(inner, "the inner lock");
                more = seed + more - seed;
            }
            return more
                    + v000 + v001 + v002 + v003 + v004 + v005 + v006 + v007 + v008 + v009
                    + v010 + v011 + v012 + v013 + v014 + v015 + v016 + v017 + v018 + v019
                    + v020 + v021 + v022 + v023 + v024 + v025 + v026 + v027 + v028 + v029
                    + v030 + v031 + v032 + v033 + v034 + v035 + v036 + v037 + v038 + v039
                    + v040 + v041 + v042 + v043 + v044 + v045 + v046 + v047 + v048 + v049
                    + v050 + v051 + v052 + v053 + v054 + v055 + v056 + v057 + v058 + v059
                    + v060 + v061 + v062 + v063 + v064 + v065 + v066 + v067 + v068 + v069
                    + v070 + v071 + v072 + v073 + v074 + v075 + v076 + v077 + v078 + v079
                    + v080 + v081 + v082 + v083 + v084 + v085 + v086 + v087 + v088 + v089
                    + v090 + v091 + v092 + v093 + v094 + v095 + v096 + v097 + v098 + v099
                    + v100 + v101 + v102 + v103 + v104 + v105 + v106 + v107 + v108 + v109
                    + v110 + v111 + v112 + v113 + v114 + v115 + v116 + v117 + v118 + v119
                    + v120 + v121 + v122 + v123 + v124 + v125 + v126 + v127 + v128 + v129;
        }
    }
}
