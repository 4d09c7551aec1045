/* The lease protocol of the shared-memory store, for the model checker Spin: what src/table and src/segment do,
   step by step.

   One stripe with its slots, and processes that each make ROUNDS attempts at a key. A step is one access to memory that
   others see. Between any two steps of a process any other may take any number of its own, time may pass, and the process
   may die (a stopped one is merely slow). check_model.py has Spin try every order of all that.

   Which function of the code each label is: docs/design/lease-protocol.md.

   What is coarser than the code:
   - Every access is sequentially consistent.
   - Tags are a bit each, so that all keys have the same, and slot 0 is every key's home. A key and its identity are one: a
     torn key equals no other, but with COLLIDING the third of three.
   - Under the mutex, what only its holder writes is read and written in one step. Slots are tried in any order.
   - A second look at a word is one step: an owner that is the same before and after proves as much as that.
   - There is no watcher of dead holders, and nobody wakes an observer: who is not told must get on all the same.
   - Nobody stands back: that is a pause of a newcomer's.
   - `hand`, granted_at and shaper, on which nothing depends, are left out, and so is all that a stripe does not know.
*/

/* ---- The configuration ---- */
#ifndef PROCS
#define PROCS 2
#endif
#ifndef PROCESS_SLOTS
#define PROCESS_SLOTS PROCS /* fewer: processes attach, and take over the slots of dead ones */
#endif
#ifndef ROUNDS
#define ROUNDS 1 /* acquires of each process */
#endif
#ifndef SLOTS
#define SLOTS 1 /* 1 or 2 */
#endif
#ifndef KEYS
#define KEYS 1
#endif
#ifndef ONE_EVICTS
#define ONE_EVICTS 0 /* 1: the last process wants the last key, the others key 1 */
#endif
#define EMPTY 0
#define KNOWN 1 /* the last slot has key 1 */
#define HELD 2  /* and process 0 holds it */
#ifndef START
#define START EMPTY
#endif
#ifndef COLLIDING
#define COLLIDING 0 /* 1: keys have the same identity, and a torn key is the third of three */
#endif
#ifndef KILLS
#define KILLS 0 /* how many processes may die */
#endif
#ifndef FENCE_BITS
#define FENCE_BITS 1 /* of a fencing number, in the word */
#endif
#ifndef TICKS
#define TICKS 0 /* how far the clock goes: it may stop before */
#endif
#ifndef TTL
#define TTL 1
#endif
#ifndef EXTENSIONS
#define EXTENSIONS 0 /* of each lease, to any ttl from 1 to TTL */
#endif
#ifndef EXTENDERS
#define EXTENDERS PROCS /* how many of the processes extend */
#endif
#ifndef MIXED_TTL
#define MIXED_TTL 0 /* 1: leases are acquired with any ttl from 1 to TTL, not with TTL */
#endif
#ifndef HAND_OVER
#define HAND_OVER 0 /* 1: a holder may unbind its lease and tell another process the token */
#endif
#ifndef TORN
#define TORN 0 /* 1: the halves of a word are read one by one */
#endif
#ifndef WAITING
#define WAITING 0 /* 1: who finds the key busy sleeps */
#endif
#ifndef IMPATIENT
#define IMPATIENT 0 /* 1: some waiters have a deadline, or are stopped */
#endif
#ifndef SPURIOUS
#define SPURIOUS 0 /* how many sleeps end for no reason: a signal, retry_delay */
#endif

/* ---- Ways to break it: each must be found ---- */
#define NONE 0
#define NO_FLOOR 1                 /* an eviction does not raise the floor */
#define NO_REPAIR_FLOOR 2          /* a repair does not */
#define FENCE_BESIDE_FLOOR 3       /* a new key's fence comes from its slot alone */
#define NO_STAMP 4                 /* all free words are alike, and so are all reserved ones */
#define FENCE_BEFORE_READ 5        /* the mark is read before the word is */
#define FENCE_AFTER_SWAP 6         /* or when the lease is granted already */
#define OWNER_FIRST 7              /* the halves of a word are read in the other order */
#define KEY_BEFORE_LEASE 8         /* the key is compared before the word is read */
#define NO_RECHECK 9               /* busy is said without a second look at the word */
#define NO_SECOND_FIND 10          /* a new key is added without looking for it under the mutex */
#define PUBLISH_BEFORE_WRITE 11    /* the lease is granted before the key is written */
#define NO_REPAIR 12               /* a dead owner's mutex is taken as it is */
#define REPAIR_KEEPS_KEY 13        /* a repair frees the slot without wiping its key */
#define REPAIR_CLEARS_TAGS 14      /* a repair clears all tags before it sets them anew */
#define RELEASE_BY_KEY 15          /* a release does not compare the owner */
#define EXTEND_WITHOUT_SWAP 16     /* an extension stores the expiry */
#define LOST_WITHOUT_RECHECK 17    /* a lease is called lost without a second look at the word */
#define HOLDER_RECHECKS_FIRST 18   /* the second look of who asks comes before the clock */
#define NO_FORGET 19               /* a process slot is used again without freeing the leases that name it */
#define FORGET_AFTER_PUBLISH 20    /* or frees them too late */
#define FORGET_ONCE 21             /* or does not try again when the swap fails */
#define NO_BIT_PASSING 22          /* the next holder drops the sleepers bit */
#define RELEASE_DROPS_BIT 23       /* the release does */
#define WAKE_BEFORE_SWAP 24        /* the release wakes first and swaps then */
#define CLEAR_BIT_WITHOUT_COUNT 25 /* the bit is cleared although somebody was woken */
#define CLEAR_BIT_WITHOUT_SWAP 26  /* the bit is cleared whatever has become of the word */
#define NO_EVICTION_WAKE 27        /* an eviction wakes nobody */
#define SOONER_WITHOUT_WAKE 28     /* an extension to an earlier time wakes nobody */
#define SOONER_KEEPS_BIT 29        /* or keeps the sleepers bit */
#define REVIVAL_SWAPPED_BACK 30    /* an extension that came too late puts the old word back and wakes nobody */
#define SLEEP_WITHOUT_COMPARE 31   /* who goes to sleep does not compare the word */
#define SLEEP_WITHOUT_BIT 32       /* or does not mark it */
#define LEAVE_WITHOUT_TRYING 33    /* a waiter whose time is up does not try once more */
#define MARK_NEVER_MOVED 34        /* the mark is not moved up */
#define MARK_STORED 35             /* it is stored and not swapped */
#define MARK_MOVED_UNCHECKED 36    /* it is moved though it may be that of another word */
#ifndef MUTANT
#define MUTANT NONE
#endif
#define IS(mutant) (MUTANT == mutant)

/* ---- Words ---- */
#define FREE 0
#define RESERVED 1
#define OWNER(token, sleepers) ((token) << 1 | (sleepers))
#define TOKEN(o) ((o) >> 1)
#define SLEEPERS(o) ((o) & 1)
#define IS_HELD(o) (TOKEN(o) > RESERVED)
#define PROCESS(o) ((TOKEN(o) - 2) / ROUNDS) /* who was granted this lease */
#define TERM(expiry, binding) ((expiry) << 4 | (binding))
#define EXPIRY(t) ((t) >> 4)
#define BINDING(t) ((t) & 15)
#define STAMP(token) (128 + (IS(NO_STAMP) -> 0 : (token)))

byte owner[SLOTS], term[SLOTS] = 128, bits[SLOTS]; /* the lease word; the fence bits are in its term */
#define IS_SEEN(i) (owner[i] == o && term[i] == t && bits[i] == c)
byte fence_mark[SLOTS];
#define MOST_BEHIND ((1 << FENCE_BITS) - 1)
#define MARK_STEP ((MOST_BEHIND + 1) / 2)
#define FENCE(fence_bits, by) ((by) + (((fence_bits) - (by)) & MOST_BEHIND))
#define NO_KEY 0
#define TORN_KEY 9
byte key[SLOTS];
byte tags = 0; /* a bit for each slot */
byte floor_ = 0;
byte mutex = 0;      /* p + 1 */
bool broken = false; /* its owner died; not repaired yet */

#define NEVER_USED 0
#define ATTACHED(p) (2 * (p) + 3)
#define IS_ATTACHED(r) ((r) & 1)
byte record[PROCESS_SLOTS];
byte lock_byte[PROCESS_SLOTS]; /* p + 1 */

byte asleep[PROCS]; /* slot + 1: in the kernel's queue */
byte now = 0;
byte spurious = 0;

/* What nobody in the code sees */
byte kills = 0; /* used up */
bool died = false;
bool dead[PROCS];
byte last_fence[KEYS + 1];
byte counted[SLOTS]; /* the fence of the last grant, or where a key that moves in begins */
#if HAND_OVER
byte told_token = 0, told_key = 0;
#endif

#define IN_FORCE(o, t) \
  (IS_HELD(o) && now < EXPIRY(t) && !(BINDING(t) != 0 && dead[PROCESS(o)]))
#define HAS(i, token) (TOKEN(owner[i]) == (token) && IN_FORCE(owner[i], term[i]))
#define IS_IN_FORCE(token) (HAS(0, token) || (SLOTS == 2 && HAS(SLOTS - 1, token)))
#define OTHER(s) (SLOTS - 1 - (s))

/* Each step begins with `mortal`: the process may die in its place. */
#define die kills++; died = true; dead[p] = true; goto dying
#if KILLS
#define mortal if :: kills < KILLS -> die :: true fi
#else
#define mortal skip
#endif

/* ---- Steps that occur more than once. Arguments in capitals: the label where they go on ---- */

#if TORN
#define load(i) \
  if \
  :: IS(OWNER_FIRST) -> atomic { mortal; o = owner[i] }; atomic { mortal; t = term[i]; c = bits[i] } \
  :: else -> atomic { mortal; t = term[i]; c = bits[i] }; atomic { mortal; o = owner[i] } \
  fi
#else
#define load(i) atomic { mortal; o = owner[i]; t = term[i]; c = bits[i] }
#endif

#define look(FOUND) \
  if \
  :: IS(KEY_BEFORE_LEASE) -> \
     atomic { mortal; r = key[s] }; \
     load(s); \
     if \
     :: r == k -> goto FOUND \
     :: else \
     fi \
  :: else -> \
     load(s); \
     atomic { \
       mortal; \
       if \
       :: key[s] == k -> goto FOUND \
       :: else \
       fi \
     } \
  fi

/* The home, then the other slot if it has a tag. Goes on behind itself when the key is nowhere. */
#if SLOTS == 1
#define find(FOUND) s = 0; look(FOUND)
#else
#define find(FOUND) \
  s = 0; \
  look(FOUND); \
  if \
  :: atomic { tags & 2 -> mortal; s = 1 }; look(FOUND) \
  :: atomic { !(tags & 2) -> mortal } \
  fi
#endif

/* Is the word (o, t) free, or its lease over? */
#define is_over(OVER, ALIVE) \
  atomic { \
    mortal; \
    clock = now; \
    r = 0; \
    if \
    :: !IS_HELD(o) || clock >= EXPIRY(t) || BINDING(t) > PROCESS_SLOTS -> goto OVER \
    :: else \
    fi; \
    if \
    :: !KILLS || BINDING(t) == 0 || BINDING(t) == own -> goto ALIVE \
    :: else \
    fi \
  }; \
  atomic { \
    mortal; \
    r = record[BINDING(t) - 1]; \
    if \
    :: !IS_ATTACHED(r) -> goto OVER \
    :: else \
    fi \
  }; \
  atomic { \
    mortal; \
    if \
    :: lock_byte[BINDING(t) - 1] == 0 -> goto OVER \
    :: else -> goto ALIVE \
    fi \
  }

/* -> woken */
inline wake_one(i) {
  if
  :: asleep[0] == i + 1 -> asleep[0] = 0; woken = 1
#if PROCS > 1
  :: asleep[1] == i + 1 -> asleep[1] = 0; woken = 1
#endif
#if PROCS > 2
  :: asleep[2] == i + 1 -> asleep[2] = 0; woken = 1
#endif
#if PROCS > 3
  :: asleep[3] == i + 1 -> asleep[3] = 0; woken = 1
#endif
  :: else -> woken = 0
  fi
}

inline wake_all(i) {
  do
  :: wake_one(i);
     if
     :: !woken -> break
     :: else
     fi
  od
}

/* After (o, t) was swapped for a free word that kept the sleepers bit */
#define wake_after_free(DONE) \
  atomic { \
    mortal; \
    wake_one(s); \
    if \
    :: woken && !IS(CLEAR_BIT_WITHOUT_COUNT) -> goto DONE \
    :: else \
    fi \
  }; \
  atomic { \
    mortal; \
    if \
    :: owner[s] == OWNER(FREE, 1) && term[s] == STAMP(TOKEN(o)) -> owner[s] = OWNER(FREE, 0) \
    :: else -> owner[s] = (IS(CLEAR_BIT_WITHOUT_SWAP) -> owner[s] & 254 : owner[s]) \
    fi; \
    goto DONE \
  }

inline check_grant() {
  assert(key[s] == k);                  /* never aliased */
  assert(f > last_fence[k]);            /* fences rise */
  last_fence[k] = f;
  assert(f == counted[s] + 1);          /* and tell how many grants there were */
  counted[s] = f;
  assert(!IN_FORCE(owner[s], term[s])); /* no lease in force is lost */
  assert(SLOTS == 1 || key[OTHER(s)] != k || !IN_FORCE(owner[OTHER(s)], term[OTHER(s)])) /* one holder */
}

#define RELEASE 1
#define EXTEND 2
#define UNBIND 3
#define ASK 4

#define RESET \
  s = 0; o = 0; t = 0; c = 0; f = 0; clock = 0; r = 0; verb = 0; extensions = 0; woken = false; last_try = false; \
  patient = true; alone = false; k = 0; mine = 0; ttl = TTL

proctype process(byte p) {
  byte round = 0, k, mine, ttl;
  byte s, o, t, c;  /* the slot, and the word as it was read */
  byte f, clock, r; /* a fence, the time as it was read, and whatever is kept for a moment */
  byte own = 0;     /* the binding: process slot + 1 */
  byte verb, extensions;
  bool woken, last_try, patient, alone;

next:
  atomic {
    RESET;
    if
    :: round == ROUNDS -> goto out
    :: else -> mine = 2 + p * ROUNDS + round; round++
    fi;
#if ONE_EVICTS
    k = (p == PROCS - 1 -> KEYS : 1);
#else
    select(k : 1 .. KEYS);
#endif
#if MIXED_TTL
    select(ttl : 1 .. TTL);
#endif
#if IMPATIENT
    if
    :: true
    :: patient = false
    :: patient = false; last_try = true
    fi;
#endif
#if HAND_OVER
    if
    :: told_token != 0 && told_token != mine ->
       mine = told_token; k = told_key; told_token = 0; told_key = 0;
       goto holding
    :: true
    fi;
#endif
#if PROCESS_SLOTS == PROCS
    own = p + 1;
#endif
    if
    :: START == HELD && mine == 2 -> k = 1; own = 1; goto holding
    :: else
    fi
  };

#if PROCESS_SLOTS < PROCS
  if
  :: own != 0 -> goto acquire
  :: own == 0
  fi;
claim:
  atomic { select(s : 0 .. PROCESS_SLOTS - 1) };
mark_dead:
  atomic {
    mortal;
    r = record[s];
    if
    :: !IS_ATTACHED(r) -> goto take_byte
    :: else
    fi
  };
  atomic {
    mortal;
    if
    :: lock_byte[s] != 0 -> goto refused
    :: else
    fi
  };
  atomic {
    mortal;
    if
    :: record[s] == r -> record[s] = r - 1
    :: else -> goto refused
    fi
  };
take_byte:
  atomic {
    mortal;
    if
    :: lock_byte[s] == 0 -> lock_byte[s] = p + 1
    :: else -> goto refused
    fi
  };
  atomic {
    mortal;
    r = record[s];
    if
    :: !IS_ATTACHED(r) -> own = s + 1; s = 0; goto forget
    :: else
    fi
  };
  atomic { mortal; lock_byte[s] = 0 };
refused:
  if
  :: goto claim
  :: goto out
  fi;
forget:
  if
  :: IS(FORGET_AFTER_PUBLISH) -> atomic { mortal; record[own - 1] = ATTACHED(p) }
  :: else
  fi;
  do
  :: r != NEVER_USED && s < SLOTS && !IS(NO_FORGET) ->
     load(s);
     if
     :: IS_HELD(o) && BINDING(t) == own ->
        atomic {
          mortal;
          if
          :: IS_SEEN(s) ->
             assert(!IN_FORCE(o, t)); /* no lease in force is lost */
             owner[s] = OWNER(FREE, SLEEPERS(o)); term[s] = STAMP(TOKEN(o))
          :: else -> s = (IS(FORGET_ONCE) -> s : s - 1); goto forgotten
          fi;
          if
          :: !SLEEPERS(o) -> goto forgotten
          :: else
          fi
        };
        wake_after_free(forgotten)
     :: else
     fi;
forgotten:
     s++
  :: else -> break
  od;
publish:
  atomic { mortal; record[own - 1] = ATTACHED(p) };
#endif

acquire:
  if
  :: IS(FENCE_BEFORE_READ) -> atomic { mortal; f = fence_mark[0] }
  :: else
  fi;
  find(take);
  goto shape;

take:
  if
  :: TOKEN(o) == RESERVED -> goto shape
  :: else
  fi;
  is_over(draw, recheck);
recheck:
  atomic {
    mortal;
    if
    :: IS_SEEN(s) || IS(NO_RECHECK)
    :: else -> goto acquire
    fi;
    assert(key[s] == k);                         /* this lease is that key's */
    assert(r == 0 || r == ATTACHED(PROCESS(o))); /* and it is its own process that was found alive */
    goto busy
  };
draw:
  atomic {
    mortal;
    r = (IS(FENCE_BEFORE_READ) -> f : fence_mark[s]);
    f = FENCE(c, r) + 1;
    if
    :: f - r <= MARK_STEP || IS(MARK_NEVER_MOVED) -> goto grant
    :: else
    fi
  };
move_mark:
  atomic { mortal; r = fence_mark[s] };
  atomic {
    mortal;
    if
    :: IS_SEEN(s) || IS(MARK_MOVED_UNCHECKED)
    :: else -> f = 0; r = 0; goto acquire
    fi
  };
  atomic {
    mortal;
    if
    :: fence_mark[s] == r || IS(MARK_STORED) -> fence_mark[s] = FENCE(c, r)
    :: else -> f = 0; r = 0; goto acquire
    fi
  };
grant:
  atomic {
    mortal;
    r = 0;
    if
    :: IS_SEEN(s)
    :: else -> f = 0; goto acquire
    fi;
    if
    :: IS(FENCE_AFTER_SWAP)
    :: else -> check_grant()
    fi;
    owner[s] = OWNER(mine, (IS(NO_BIT_PASSING) -> 0 : SLEEPERS(o)));
    term[s] = TERM(clock + ttl, own); bits[s] = (c + 1) & MOST_BEHIND
  };
  if
  :: IS(FENCE_AFTER_SWAP) ->
     atomic {
       mortal;
       f = FENCE((c + 1) & MOST_BEHIND, fence_mark[s]);
       assert(TOKEN(owner[s]) == mine) /* or a later grant may have the same */
     }
  :: else
  fi;
  goto holding;

/* ---- A new key ---- */
shape:
  if
  :: atomic { mutex == 0 -> mortal; mutex = p + 1 }
  :: mutex != 0 -> goto next /* stalled: an error to the caller */
  fi;
  if
  :: !broken -> goto add
  :: broken && IS(NO_REPAIR) -> broken = false; goto add
  :: else
  fi;
  if
  :: IS(REPAIR_CLEARS_TAGS) -> atomic { mortal; tags = 0 }
  :: else
  fi;
  s = 0; f = 0;
repair:
  do
  :: s < SLOTS ->
     atomic {
       mortal;
       o = owner[s]; c = bits[s];
       if
       :: TOKEN(o) != RESERVED -> goto repaired
       :: else
       fi
     };
     atomic {
       mortal;
       floor_ = (IS(NO_REPAIR_FLOOR) || FENCE(c, fence_mark[s]) <= floor_ -> floor_ : FENCE(c, fence_mark[s]))
     };
     atomic { mortal; key[s] = (IS(REPAIR_KEEPS_KEY) -> key[s] : NO_KEY) };
     atomic { mortal; assert(owner[s] == o); owner[s] = OWNER(FREE, SLEEPERS(o)) };
repaired:
     atomic { f = f | ((key[s] != NO_KEY) << s); s++ }
  :: else -> break
  od;
  atomic { mortal; tags = f };
  atomic { mortal; broken = false };
add:
  atomic {
    mortal;
    r = (key[0] == k || (SLOTS == 2 && (tags & 2) && key[SLOTS - 1] == k));
    assert(r || SLOTS == 1 || key[SLOTS - 1] != k); /* under the mutex a miss is a miss */
    if
    :: r && !IS(NO_SECOND_FIND)
    :: else -> goto reserve
    fi
  };
  atomic { mortal; mutex = 0; goto acquire };
/* Any slot, any number of times: in which order is a matter of taste. */
reserve:
  atomic { select(s : 0 .. SLOTS - 1) };
try_reserve:
  load(s);
  assert(TOKEN(o) != RESERVED && key[s] != TORN_KEY); /* under the mutex, after its repair */
  is_over(evict, not_reserved);
evict:
  atomic {
    mortal;
    if
    :: IS_SEEN(s) -> assert(!IN_FORCE(o, t)) /* no lease in force is lost */
    :: else -> goto not_reserved
    fi;
    owner[s] = OWNER(RESERVED, 0); term[s] = STAMP(mine);
    if
    :: !SLEEPERS(o) || IS(NO_EVICTION_WAKE) -> goto settle
    :: else
    fi
  };
  atomic { mortal; wake_all(s); goto settle };
not_reserved:
  if
  :: goto reserve
  :: atomic { mortal; mutex = 0; goto next } /* full: an error to the caller */
  fi;
settle:
  atomic { mortal; floor_ = (IS(NO_FLOOR) || FENCE(c, fence_mark[s]) <= floor_ -> floor_ : FENCE(c, fence_mark[s])) };
  if
  :: IS(PUBLISH_BEFORE_WRITE) -> atomic { mortal; owner[s] = OWNER(mine, 0); term[s] = TERM(now + ttl, own) }
  :: else
  fi;
  if
  :: key[s] != NO_KEY ->
     atomic { mortal; key[s] = (COLLIDING && key[s] != k && key[s] != TORN_KEY -> 6 - key[s] - k : TORN_KEY) }
  :: else
  fi;
  atomic { mortal; key[s] = k };
  atomic { mortal; tags = tags | (1 << s) };
  atomic {
    mortal;
    fence_mark[s] = FENCE(c, (IS(FENCE_BESIDE_FLOOR) -> fence_mark[s] : floor_));
    counted[s] = fence_mark[s];
    f = fence_mark[s] + 1;
    clock = now
  };
  if
  :: IS(PUBLISH_BEFORE_WRITE)
  :: else ->
     atomic {
       mortal;
       assert(owner[s] == OWNER(RESERVED, 0) && term[s] == STAMP(mine));
       check_grant();
       owner[s] = OWNER(mine, 0); term[s] = TERM(clock + ttl, own); bits[s] = f & MOST_BEHIND
     }
  fi;
  atomic { mortal; mutex = 0 };

/* ---- The holder ---- */
holding:
  atomic {
    s = 0; o = 0; t = 0; c = 0; f = 0; clock = 0; r = 0; woken = false; last_try = false; patient = true;
    alone = false;
    if
    :: verb = RELEASE
#if EXTENSIONS
    :: extensions < EXTENSIONS && p < EXTENDERS -> extensions++; verb = EXTEND; select(ttl : 1 .. TTL)
#endif
#if HAND_OVER
    :: verb != UNBIND -> verb = UNBIND
    :: verb != UNBIND -> verb = ASK
#endif
    fi
  };
  if
  :: HAND_OVER && verb == ASK -> find(holder)
  :: else -> find(change)
  fi;
  atomic { assert(!IS_IN_FORCE(mine)); goto next }; /* lost */
change:
  atomic {
    mortal;
    clock = now;
    if
    :: !IS_HELD(o) || (TOKEN(o) != mine && !IS(RELEASE_BY_KEY)) -> assert(!IS_IN_FORCE(mine)); goto next /* lost */
    :: else
    fi;
    if
    :: clock < EXPIRY(t) -> goto unexpired
    :: else
    fi
  };
expired:
  atomic {
    mortal;
    if
    :: IS_SEEN(s) || IS(LOST_WITHOUT_RECHECK) -> assert(!IS_IN_FORCE(mine)); goto next /* lost */
    :: else -> goto reload
    fi
  };
unexpired:
  if
  :: IS(WAKE_BEFORE_SWAP) && verb == RELEASE && SLEEPERS(o) -> atomic { mortal; wake_one(s) }
  :: else
  fi;
  atomic {
    mortal;
    if
    :: IS_SEEN(s) || (IS(EXTEND_WITHOUT_SWAP) && verb == EXTEND) ->
       assert(TOKEN(owner[s]) == mine) /* nobody ends or changes another's lease */
    :: else -> goto reload
    fi;
    if
    :: verb == RELEASE ->
       owner[s] = OWNER(FREE, (IS(RELEASE_DROPS_BIT) -> 0 : SLEEPERS(o))); term[s] = STAMP(TOKEN(o));
       if
       :: SLEEPERS(o) && !IS(WAKE_BEFORE_SWAP) -> goto released
       :: else -> goto next
       fi
    :: verb == EXTEND ->
       r = clock + ttl < EXPIRY(t); /* sooner */
       owner[s] = OWNER(mine, (r && !IS(SOONER_KEEPS_BIT) -> 0 : SLEEPERS(o)));
       term[s] = TERM(clock + ttl, BINDING(t));
       if
       :: r && SLEEPERS(o) && !IS(SOONER_WITHOUT_WAKE)
       :: else -> goto extended
       fi
    :: verb == UNBIND ->
       term[s] = TERM(EXPIRY(t), 0);
#if HAND_OVER
       told_token = mine; told_key = k;
#endif
       goto holding
    fi
  };
  atomic { mortal; wake_all(s) };
extended:
  /* Was the swap too late? Then it is undone: a release. */
  atomic {
    mortal;
    if
    :: now < EXPIRY(t) -> goto holding
    :: else
    fi
  };
  atomic {
    mortal;
    f = OWNER(mine, (r && !IS(SOONER_KEEPS_BIT) -> 0 : SLEEPERS(o)));
    if
    :: owner[s] != f || term[s] != TERM(clock + ttl, BINDING(t)) -> goto holding
    :: else
    fi;
    if
    :: IS(REVIVAL_SWAPPED_BACK) -> owner[s] = o; term[s] = t; goto next /* lost */
    :: else -> o = f; owner[s] = OWNER(FREE, SLEEPERS(o)); term[s] = STAMP(TOKEN(o))
    fi;
    if
    :: !SLEEPERS(o) -> goto next /* lost */
    :: else
    fi
  };
released:
  wake_after_free(next);
reload:
  load(s);
  goto change;
holder:
  atomic {
    mortal;
    if
    :: TOKEN(o) != mine -> assert(!IS_IN_FORCE(mine)); goto next /* lost */
    :: TOKEN(o) == mine && IS(HOLDER_RECHECKS_FIRST) && !IS_SEEN(s) -> goto holding
    :: else
    fi
  };
  is_over(holder_over, holding);
holder_over:
  atomic {
    mortal;
    if
    :: IS_SEEN(s) || IS(HOLDER_RECHECKS_FIRST) -> assert(!IS_IN_FORCE(mine)); goto next /* lost */
    :: else -> goto holding /* it looks again */
    fi
  };

/* ---- The waiter ---- */
busy:
#if !WAITING
  goto next;
#else
  assert(!alone); /* retry_delay does end the wait */
  if
  :: last_try -> goto next
  :: !last_try && (SLEEPERS(o) || IS(SLEEP_WITHOUT_BIT)) -> goto futex_wait
  :: else
  fi;
mark:
  atomic {
    mortal;
    if
    :: IS_SEEN(s) -> o = o | 1; owner[s] = o
    :: else -> goto again
    fi
  };
futex_wait:
  atomic {
    mortal;
    if
    :: owner[s] == o || IS(SLEEP_WITHOUT_COMPARE) -> asleep[p] = s + 1
    :: else -> goto again
    fi
  };
  if
  :: asleep[p] == 0
  :: atomic { now >= EXPIRY(t) -> asleep[p] = 0 } /* its own timer */
#if IMPATIENT
  :: atomic { !patient -> asleep[p] = 0 }
#endif
#if SPURIOUS
  :: atomic { spurious < SPURIOUS -> spurious++; asleep[p] = 0 }
#endif
#if KILLS
  :: atomic { kills < KILLS -> die }
#endif
  :: atomic {
       timeout -> /* nothing else will ever happen: only retry_delay ends this sleep */
       assert(died);
       asleep[p] = 0; alone = true
     }
  fi;
again:
  atomic {
    s = 0; o = 0; t = 0; c = 0; f = 0; clock = 0; r = 0;
#if IMPATIENT
    if
    :: !patient -> last_try = true
    :: true
    fi;
    if
    :: last_try && IS(LEAVE_WITHOUT_TRYING) -> goto next
    :: else
    fi;
#endif
    goto acquire
  };
#endif

dying:
  atomic {
    RESET;
    round = 0; own = 0;
    asleep[p] = 0;
    if
    :: mutex == p + 1 -> mutex = 0; broken = true
    :: else
    fi
  };
  atomic {
    do
    :: s == PROCESS_SLOTS -> break
    :: else -> lock_byte[s] = (lock_byte[s] == p + 1 -> 0 : lock_byte[s]); s++
    od
  };
out:
  skip
}

proctype time() {
  do
  :: now < TICKS -> now++
  :: break
  od
}

init {
  byte i = 0;
  atomic {
#if START != EMPTY
    key[SLOTS - 1] = 1; tags = 1 << (SLOTS - 1);
#endif
#if START == HELD
    owner[SLOTS - 1] = OWNER(2, 0); term[SLOTS - 1] = TERM(TTL, 1);
    bits[SLOTS - 1] = 1; fence_mark[SLOTS - 1] = 1; last_fence[1] = 1; counted[SLOTS - 1] = 1;
    record[0] = ATTACHED(0); lock_byte[0] = 1;
#endif
    do
    :: i < PROCS ->
#if PROCESS_SLOTS == PROCS
       record[i] = ATTACHED(i); lock_byte[i] = i + 1;
#endif
       run process(i);
       i++
    :: else -> break
    od;
    i = 0;
    run time();
#if WAITING
    select(kills : 0 .. KILLS) /* a sleeper that may die would never be without anything to do */
#endif
  }
}
