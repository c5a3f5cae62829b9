(* The rules of proof of solver/proofs/checker.py as lemmas over the integers. An exported verdict repeats those that it
   uses.

   Side conditions on numbers are computations (`(0 <? 4) = true`), so that `eq_refl` proves them; identities of
   polynomials are left to `ring`, linear arithmetic and logic to `lia`. Division is Coq's: `n / d` rounds down for
   divisors of either sign, as Python's `//` does. Blocks are separated by empty lines; each is one definition or one
   lemma with its proof. *)

Require Import ZArith Lia List Bool.
Open Scope Z_scope.

(* names *)

Lemma name_of (e : Z) : exists x : Z, x = e.
Proof. exists e. reflexivity. Qed.

(* what the tactic `lia` gives from a proof: linear arithmetic over monomials, logic, truth values *)

Lemma since (Q : Prop) {P : Prop} (p : P) (f : P -> Q) : Q.
Proof. exact (f p). Qed.

(* sums *)

Lemma slack (k : Z) : (0 <=? k) = true -> 0 <= k.
Proof. rewrite Z.leb_le. easy. Qed.

Lemma added (k : Z) {e s : Z} : (0 <=? k) = true -> 0 <= e -> 0 <= s -> 0 <= k * e + s.
Proof. rewrite Z.leb_le. nia. Qed.

Lemma added_equality (k : Z) {e s : Z} : e = 0 -> 0 <= s -> 0 <= k * e + s.
Proof. nia. Qed.

Lemma added_zero (k : Z) {e s : Z} : e = 0 -> s = 0 -> k * e + s = 0.
Proof. nia. Qed.

(* products *)

Lemma gap (e : Z) : 0 <= e * e - e.
Proof. nia. Qed.

Lemma zero_product (e f : Z) : e = 0 -> e * f = 0.
Proof. nia. Qed.

Lemma product_apart {e f : Z} : e <> 0 -> f <> 0 -> e * f <> 0.
Proof. nia. Qed.

Lemma cancelled {e f : Z} : f <> 0 -> e * f = 0 -> e = 0.
Proof. nia. Qed.

Lemma factor_apart_ge {a r : Z} (c : Z) : (c <? 0) = true -> 0 <= a * r + c -> a <> 0.
Proof. rewrite Z.ltb_lt. nia. Qed.

Lemma factor_apart_eq {a r : Z} (c : Z) : (c =? 0) = false -> a * r + c = 0 -> a <> 0.
Proof. rewrite Z.eqb_neq. nia. Qed.

Lemma factor_apart_ne {a r : Z} (c : Z) : (c =? 0) = true -> a * r + c <> 0 -> a <> 0.
Proof. rewrite Z.eqb_eq. nia. Qed.

Lemma no_multiple (a r c k : Z) : (0 <? Z.abs c) = true -> (Z.abs c <? k) = true -> k <= a -> a * r + c <> 0.
Proof.
  rewrite !Z.ltb_lt. intros ? ? ? E.
  assert (r = 0 \/ 1 <= r \/ r <= -1) as [-> | [? | ?]] by lia; nia.
Qed.

Lemma positive_product {a b : Z} : 0 < a -> 0 < b -> 0 < a * b.
Proof. nia. Qed.

Lemma factor_out_ge {f r : Z} : 0 < f -> 0 <= f * r -> 0 <= r.
Proof. nia. Qed.

Lemma factor_in_ge {f r : Z} : 0 < f -> 0 <= r -> 0 <= f * r.
Proof. nia. Qed.

Lemma factor_out_lt {f r : Z} : 0 < f -> f * r < 0 -> r < 0.
Proof. nia. Qed.

Lemma factor_in_lt {f r : Z} : 0 < f -> r < 0 -> f * r < 0.
Proof. nia. Qed.

Lemma factor_out_eq {f r : Z} : f <> 0 -> f * r = 0 -> r = 0.
Proof. nia. Qed.

Lemma factor_in_eq {f r : Z} : f <> 0 -> r = 0 -> f * r = 0.
Proof. nia. Qed.

Lemma factor_out_ne {f r : Z} : f <> 0 -> f * r <> 0 -> r <> 0.
Proof. nia. Qed.

Lemma factor_in_ne {f r : Z} : f <> 0 -> r <> 0 -> f * r <> 0.
Proof. nia. Qed.

Lemma factor_bounded (x p o t h l r k : Z) :
  (0 <=? r) = true -> (1 <=? l) = true -> (0 <? k) = true -> (h <? (r + 1) ^ k * l) = true ->
  t = h - p * o -> p = x ^ k -> l <= o -> 0 <= t -> 0 <= r - x.
Proof.
  rewrite !Z.leb_le, !Z.ltb_lt. intros R L K S -> -> O T.
  destruct (Z.le_gt_cases x r) as [? | X]; [lia | exfalso].
  assert ((r + 1) ^ k <= x ^ k) by (apply Z.pow_le_mono_l; lia).
  assert (0 < (r + 1) ^ k) by (apply Z.pow_pos_nonneg; lia). nia.
Qed.

Lemma at_least_product (a b l m : Z) : (0 <=? l) = true -> (0 <=? m) = true -> l <= a -> m <= b -> l * m <= a * b.
Proof. rewrite !Z.leb_le. nia. Qed.

(* intervals *)

Lemma product_of_zero (x y v : Z) : (v <=? 0) = true -> 0 <= x -> x <= 0 -> v <= x * y.
Proof. rewrite Z.leb_le. intros. assert (x = 0) as -> by lia. lia. Qed.

Lemma product_of_lows (x y a c v : Z) :
  (0 <=? a) = true -> (0 <=? c) = true -> (v <=? a * c) = true -> a <= x -> c <= y -> v <= x * y.
Proof. rewrite !Z.leb_le. nia. Qed.

Lemma line_low (y a c d v : Z) : v <= a * c -> v <= a * d -> c <= y -> y <= d -> v <= a * y.
Proof.
  intros. destruct (Z.le_ge_cases 0 a).
  - transitivity (a * c); [assumption | apply Z.mul_le_mono_nonneg_l; assumption].
  - transitivity (a * d); [assumption | apply Z.mul_le_mono_nonpos_l; assumption].
Qed.

Lemma product_half_open (x y a c d v : Z) :
  (0 <=? c) = true -> (v <=? a * c) = true -> (v <=? a * d) = true -> a <= x -> c <= y -> y <= d -> v <= x * y.
Proof.
  rewrite !Z.leb_le. intros. transitivity (a * y); [apply (line_low y a c d); assumption |].
  apply Z.mul_le_mono_nonneg_r; lia.
Qed.

Lemma product_closed (x y a b c d v : Z) :
  (v <=? a * c) = true -> (v <=? a * d) = true -> (v <=? b * c) = true -> (v <=? b * d) = true ->
  a <= x -> x <= b -> c <= y -> y <= d -> v <= x * y.
Proof.
  rewrite !Z.leb_le. intros. destruct (Z.le_ge_cases 0 y).
  - transitivity (a * y); [apply (line_low y a c d); assumption | apply Z.mul_le_mono_nonneg_r; assumption].
  - transitivity (b * y); [apply (line_low y b c d); assumption | apply Z.mul_le_mono_nonpos_r; assumption].
Qed.

Lemma power_low (x k l v : Z) : (0 <=? l) = true -> (v <=? l ^ k) = true -> l <= x -> v <= x ^ k.
Proof.
  rewrite !Z.leb_le. intros. transitivity (l ^ k); [assumption | apply Z.pow_le_mono_l; lia].
Qed.

Lemma power_high (x k h v : Z) : (h ^ k <=? v) = true -> 0 <= x -> x <= h -> x ^ k <= v.
Proof.
  rewrite !Z.leb_le. intros. transitivity (h ^ k); [apply Z.pow_le_mono_l; lia | assumption].
Qed.

Lemma odd_power_low (x k l v : Z) : (Z.odd k && (0 <? k))%bool = true -> (v <=? l ^ k) = true -> l <= x -> v <= x ^ k.
Proof.
  rewrite andb_true_iff, Z.ltb_lt, Z.leb_le. intros [O K] V L. transitivity (l ^ k); [exact V | clear V v].
  destruct (Z.le_gt_cases 0 l) as [P | P]; [apply Z.pow_le_mono_l; lia |].
  assert (forall a, a < 0 -> a ^ k = - (- a) ^ k) as N.
  { intros a _. replace a with (- - a) at 1 by lia. apply Z.pow_opp_odd. apply Z.odd_spec. exact O. }
  destruct (Z.le_gt_cases 0 x) as [Q | Q].
  - rewrite (N l P). assert (0 <= x ^ k) by (apply Z.pow_nonneg; lia). assert (0 <= (- l) ^ k) by (apply Z.pow_nonneg; lia). lia.
  - rewrite (N l P), (N x Q). assert ((- x) ^ k <= (- l) ^ k) by (apply Z.pow_le_mono_l; lia). lia.
Qed.

Lemma odd_power_high (x k h v : Z) : (Z.odd k && (0 <? k))%bool = true -> (h ^ k <=? v) = true -> x <= h -> x ^ k <= v.
Proof.
  rewrite Z.leb_le. intros O V H. transitivity (h ^ k); [| exact V].
  apply (odd_power_low h k x); [exact O | apply Z.leb_refl | exact H].
Qed.

Lemma even_power_sign (x k v : Z) : Z.even k = true -> (v <=? 0) = true -> v <= x ^ k.
Proof.
  rewrite Z.leb_le. intros E V. transitivity 0; [exact V |].
  apply Z.pow_even_nonneg. apply Z.even_spec. exact E.
Qed.

Lemma even_power_high (x k l h v : Z) :
  Z.even k = true -> ((- l) ^ k <=? v) = true -> (h ^ k <=? v) = true -> l <= x -> x <= h -> x ^ k <= v.
Proof.
  rewrite !Z.leb_le. intros E L H ? ?. destruct (Z.le_gt_cases 0 x).
  - transitivity (h ^ k); [apply Z.pow_le_mono_l; lia | exact H].
  - replace (x ^ k) with ((- x) ^ k) by (apply Z.pow_opp_even; apply Z.even_spec; exact E).
    transitivity ((- l) ^ k); [apply Z.pow_le_mono_l; lia | exact L].
Qed.

Lemma quotient_low_positive (n d l c v : Z) :
  (0 <=? l) = true -> (1 <=? c) = true -> (v <=? 0) = true -> l <= n -> c <= d -> v <= n / d.
Proof. rewrite !Z.leb_le. intros. transitivity 0; [assumption | apply Z.div_pos; lia]. Qed.

Lemma quotient_low_closed (n d l c h v : Z) :
  (0 <=? l) = true -> (1 <=? c) = true -> (v <=? l / h) = true -> l <= n -> c <= d -> d <= h -> v <= n / d.
Proof.
  rewrite !Z.leb_le. intros. transitivity (l / h); [assumption |].
  transitivity (l / d); [apply Z.div_le_compat_l; lia | apply Z.div_le_mono; lia].
Qed.

Lemma quotient_low_negative (n d l c v : Z) :
  (l <? 0) = true -> (1 <=? c) = true -> (v <=? l / c) = true -> l <= n -> c <= d -> v <= n / d.
Proof.
  rewrite Z.ltb_lt, !Z.leb_le. intros. transitivity (l / c); [assumption |].
  transitivity (l / d); [| apply Z.div_le_mono; lia].
  apply Z.div_le_lower_bound; [lia |]. assert (c * (l / c) <= l) by (apply Z.mul_div_le; lia).
  assert (l / c <= 0) by (apply Z.div_le_upper_bound; lia). nia.
Qed.

Lemma quotient_high_positive (n d h c v : Z) :
  (0 <=? h) = true -> (1 <=? c) = true -> (h / c <=? v) = true -> n <= h -> c <= d -> n / d <= v.
Proof.
  rewrite !Z.leb_le. intros. transitivity (h / c); [| assumption].
  transitivity (h / d); [apply Z.div_le_mono; lia | apply Z.div_le_compat_l; lia].
Qed.

Lemma quotient_high_open (n d h c v : Z) :
  (h <? 0) = true -> (1 <=? c) = true -> (-1 <=? v) = true -> n <= h -> c <= d -> n / d <= v.
Proof.
  rewrite Z.ltb_lt, !Z.leb_le. intros. assert (n / d < 0) by (apply Z.div_lt_upper_bound; lia). lia.
Qed.

Lemma quotient_high_closed (n d h c m v : Z) :
  (h <? 0) = true -> (1 <=? c) = true -> (h / m <=? v) = true -> n <= h -> c <= d -> d <= m -> n / d <= v.
Proof.
  rewrite Z.ltb_lt, !Z.leb_le. intros. transitivity (h / m); [| assumption].
  transitivity (h / d); [apply Z.div_le_mono; lia |].
  apply Z.div_le_lower_bound; [lia |]. assert (d * (h / d) <= h) by (apply Z.mul_div_le; lia).
  assert (h / d < 0) by (apply Z.div_lt_upper_bound; lia). nia.
Qed.

Lemma choice_low (b : bool) (e l v : Z) : (v <=? Z.min l 0) = true -> l <= e -> v <= if b then e else 0.
Proof. rewrite Z.leb_le. destruct b; lia. Qed.

Lemma choice_high (b : bool) (e h v : Z) : (Z.max h 0 <=? v) = true -> e <= h -> (if b then e else 0) <= v.
Proof. rewrite Z.leb_le. destruct b; lia. Qed.

Lemma land_le (a b : Z) : 0 <= a -> 0 <= Z.land a b <= a.
Proof.
  intros A. assert (0 <= Z.land a b) by (apply Z.land_nonneg; left; exact A). split; [assumption |].
  assert (a = Z.land a b + Z.ldiff a b) as E.
  { rewrite Z.add_nocarry_lxor; [apply Z.bits_inj'; intros n N; rewrite Z.lxor_spec, Z.land_spec, Z.ldiff_spec;
      destruct (Z.testbit a n), (Z.testbit b n); reflexivity |].
    apply Z.bits_inj'. intros n N. rewrite !Z.land_spec, Z.ldiff_spec, Z.bits_0.
    destruct (Z.testbit a n), (Z.testbit b n); reflexivity. }
  assert (0 <= Z.ldiff a b) by (apply Z.ldiff_nonneg; left; exact A). lia.
Qed.

Lemma land_low_left (a b l v : Z) : (0 <=? l) = true -> (v <=? 0) = true -> l <= a -> v <= Z.land a b.
Proof. rewrite !Z.leb_le. intros. pose proof (land_le a b). lia. Qed.

Lemma land_low_right (a b l v : Z) : (0 <=? l) = true -> (v <=? 0) = true -> l <= b -> v <= Z.land a b.
Proof. rewrite Z.land_comm. apply land_low_left. Qed.

Lemma land_high_left (a b l h v : Z) : (0 <=? l) = true -> (h <=? v) = true -> l <= a -> a <= h -> Z.land a b <= v.
Proof. rewrite !Z.leb_le. intros. pose proof (land_le a b). lia. Qed.

Lemma land_high_right (a b l h v : Z) : (0 <=? l) = true -> (h <=? v) = true -> l <= b -> b <= h -> Z.land a b <= v.
Proof. rewrite Z.land_comm. apply land_high_left. Qed.

Lemma land_at_most (a b : Z) : 0 <= a \/ 0 <= - b - 1 -> Z.land a b <= a.
Proof.
  intros [A | B]; [apply land_le; exact A |].
  assert (a = Z.land a b + Z.ldiff a b) as E.
  { rewrite Z.add_nocarry_lxor; [apply Z.bits_inj'; intros n N; rewrite Z.lxor_spec, Z.land_spec, Z.ldiff_spec;
      destruct (Z.testbit a n), (Z.testbit b n); reflexivity |].
    apply Z.bits_inj'. intros n N. rewrite !Z.land_spec, Z.ldiff_spec, Z.bits_0.
    destruct (Z.testbit a n), (Z.testbit b n); reflexivity. }
  assert (0 <= Z.ldiff a b) by (apply Z.ldiff_nonneg; right; lia). lia.
Qed.

Lemma raised_low (a b l m v : Z) :
  (1 <=? l) = true -> (0 <=? m) = true -> (v <=? l ^ m) = true -> l <= a -> m <= b -> v <= a ^ b.
Proof.
  rewrite !Z.leb_le. intros. transitivity (l ^ m); [assumption |].
  transitivity (a ^ m); [apply Z.pow_le_mono_l; lia | apply Z.pow_le_mono_r; lia].
Qed.

Lemma raised_low_open (a b l m v : Z) :
  (1 <=? l) = true -> (0 <=? m) = true -> (v <=? 1) = true -> l <= a -> m <= b -> v <= a ^ b.
Proof. rewrite !Z.leb_le. intros. assert (0 < a ^ b) by (apply Z.pow_pos_nonneg; lia). lia. Qed.

Lemma raised_high (a b l m h i v : Z) :
  (1 <=? l) = true -> (0 <=? m) = true -> (h ^ i <=? v) = true -> l <= a -> m <= b -> a <= h -> b <= i -> a ^ b <= v.
Proof.
  rewrite !Z.leb_le. intros. transitivity (h ^ i); [| assumption].
  transitivity (h ^ b); [apply Z.pow_le_mono_l; lia | apply Z.pow_le_mono_r; lia].
Qed.

Lemma root_low (n l v : Z) : (v <=? Z.sqrt l) = true -> l <= n -> v <= Z.sqrt n.
Proof. rewrite Z.leb_le. intros. transitivity (Z.sqrt l); [assumption | apply Z.sqrt_le_mono; assumption]. Qed.

Lemma root_low_open (n v : Z) : (v <=? 0) = true -> v <= Z.sqrt n.
Proof. rewrite Z.leb_le. intros. transitivity 0; [assumption | apply Z.sqrt_nonneg]. Qed.

Lemma root_high (n h v : Z) : (Z.sqrt h <=? v) = true -> n <= h -> Z.sqrt n <= v.
Proof. rewrite Z.leb_le. intros. transitivity (Z.sqrt h); [apply Z.sqrt_le_mono; assumption | assumption]. Qed.

Definition bit_length (n : Z) : Z := if n =? 0 then 0 else Z.log2 (Z.abs n) + 1.

Lemma bit_length_mono (m n : Z) : Z.abs m <= Z.abs n -> bit_length m <= bit_length n.
Proof.
  unfold bit_length. intros H. destruct (Z.eqb_spec m 0), (Z.eqb_spec n 0); try lia.
  - pose proof (Z.log2_nonneg (Z.abs n)). lia.
  - pose proof (Z.log2_le_mono _ _ H). lia.
Qed.

Lemma bit_length_low (n l v : Z) : (0 <=? l) = true -> (v <=? bit_length l) = true -> l <= n -> v <= bit_length n.
Proof. rewrite !Z.leb_le. intros. pose proof (bit_length_mono l n). lia. Qed.

Lemma bit_length_low_negative (n h v : Z) :
  (h <=? 0) = true -> (v <=? bit_length h) = true -> n <= h -> v <= bit_length n.
Proof. rewrite !Z.leb_le. intros. pose proof (bit_length_mono h n). lia. Qed.

Lemma bit_length_low_open (n v : Z) : (v <=? 0) = true -> v <= bit_length n.
Proof. rewrite Z.leb_le. unfold bit_length. destruct (n =? 0); pose proof (Z.log2_nonneg (Z.abs n)); lia. Qed.

Lemma bit_length_high (n l h v : Z) :
  (bit_length (Z.max (Z.abs l) (Z.abs h)) <=? v) = true -> l <= n -> n <= h -> bit_length n <= v.
Proof. rewrite Z.leb_le. intros. pose proof (bit_length_mono n (Z.max (Z.abs l) (Z.abs h))). lia. Qed.

(* enumeration *)

Fixpoint every_from (low : Z) (count : nat) (p : Z -> bool) : bool :=
  match count with O => true | S rest => p low && every_from (low + 1) rest p end.

Lemma boxed (low high : Z) (p : Z -> bool) :
  every_from low (Z.to_nat (high - low + 1)) p = true -> forall x, low <= x -> x <= high -> p x = true.
Proof.
  remember (Z.to_nat (high - low + 1)) as count eqn:C. revert low C.
  induction count as [| count I]; intros low C H x L U; [lia |].
  cbn in H. apply andb_true_iff in H. destruct H as [H R].
  destruct (Z.eq_dec x low) as [-> | N]; [exact H |]. apply (I (low + 1)); try lia. exact R.
Qed.

Lemma implied (p q : bool) : implb p q = true -> p = true -> q = true.
Proof. now destruct p, q. Qed.

Lemma by_residue (m : Z) (p : Z -> bool) :
  (0 <? m) = true -> every_from 0 (Z.to_nat (m - 1 - 0 + 1)) p = true -> forall x, p (x mod m) = true.
Proof.
  rewrite Z.ltb_lt. intros M H x. pose proof (Z.mod_pos_bound x m M).
  apply (boxed 0 (m - 1) p H (x mod m)); lia.
Qed.

Definition congruent (m x y : Z) : Prop := x mod m = y mod m.

Lemma congruent_add (m a b c d : Z) : congruent m a b -> congruent m c d -> congruent m (a + c) (b + d).
Proof. unfold congruent. intros H K. rewrite (Zplus_mod a c), (Zplus_mod b d), H, K. reflexivity. Qed.

Lemma congruent_mul (m a b c d : Z) : congruent m a b -> congruent m c d -> congruent m (a * c) (b * d).
Proof. unfold congruent. intros H K. rewrite (Zmult_mod a c), (Zmult_mod b d), H, K. reflexivity. Qed.

Lemma congruent_refl (m a : Z) : congruent m a a.
Proof. reflexivity. Qed.

Lemma congruent_mod (m a : Z) : congruent m a (a mod m).
Proof. unfold congruent. symmetry. apply Zmod_mod. Qed.

Lemma no_residue (m e t l r : Z) :
  e = t + m * l -> congruent m t r -> negb (r mod m =? 0) = true -> e <> 0.
Proof.
  unfold congruent. rewrite negb_true_iff, Z.eqb_neq. intros -> C N E. apply N. rewrite <- C.
  replace t with (- l * m) by lia. destruct (Z.eq_dec m 0) as [-> | M]; [rewrite Z.mul_0_r; reflexivity |].
  apply Z.mod_mul. exact M.
Qed.

(* operations by their definitions *)

Lemma relu_above_zero (v e : Z) : v = Z.max e 0 -> 0 <= v.
Proof. lia. Qed.

Lemma choice_taken {b : bool} {v e : Z} : v = (if b then e else 0) -> b = true -> v - e = 0.
Proof. intros -> ->. lia. Qed.

Lemma choice_left {b : bool} {v e : Z} : v = (if b then e else 0) -> b = false -> v = 0.
Proof. intros -> ->. reflexivity. Qed.

Lemma quotient_below {q n d : Z} : q = n / d -> 0 < d -> 0 <= n - d * q.
Proof. intros -> D. pose proof (Z.mul_div_le n d D). lia. Qed.

Lemma quotient_above {q n d : Z} : q = n / d -> 0 < d -> 0 <= d * q + d - 1 - n.
Proof. intros -> D. pose proof (Z.mul_succ_div_gt n d D). lia. Qed.

Lemma quotient_below_negative {q n d : Z} : q = n / d -> d < 0 -> 0 <= - (n - d * q).
Proof. intros -> D. pose proof (Z.mod_neg_bound n d D). pose proof (Z.div_mod n d). lia. Qed.

Lemma quotient_above_negative {q n d : Z} : q = n / d -> d < 0 -> 0 <= n - d * q - d - 1.
Proof. intros -> D. pose proof (Z.mod_neg_bound n d D). pose proof (Z.div_mod n d). lia. Qed.

Lemma land_first {q a b : Z} : q = Z.land a b -> 0 <= a \/ 0 <= - b - 1 -> 0 <= a - q.
Proof. intros -> H. pose proof (land_at_most a b H). lia. Qed.

Lemma land_second {q a b : Z} : q = Z.land a b -> 0 <= b \/ 0 <= - a - 1 -> 0 <= b - q.
Proof. intros -> H. rewrite Z.land_comm. pose proof (land_at_most b a H). lia. Qed.

Lemma isolated_above {q n d r : Z} : q = n / d -> 0 < d -> 0 <= n + d * r -> 0 <= q + r.
Proof. intros -> D T. pose proof (Z.mul_succ_div_gt n d D). nia. Qed.

Lemma negated_quotient {q n d : Z} : q = n / d -> d < 0 -> q = - n / - d.
Proof. intros -> D. rewrite Z.div_opp_opp; lia. Qed.

Lemma isolated_below {q n d r : Z} : q = n / d -> 0 < d -> 0 <= d * (r + 1) - 1 - n -> 0 <= - q + r.
Proof. intros -> D T. pose proof (Z.mul_div_le n d D). nia. Qed.

(* substitution, and the canonical forms of operations *)

Lemma exchange (f : Z -> Z) (x y s t : Z) : s = f x -> x = y -> f y = t -> s = t.
Proof. intros -> -> ->. reflexivity. Qed.

Lemma same_quotient (q n d m e t : Z) : q = n / d -> n = m -> d = e -> m / e = t -> q = t.
Proof. intros -> -> ->. exact (fun H => H). Qed.

Lemma same_relu (q e f t : Z) : q = Z.max e 0 -> e = f -> Z.max f 0 = t -> q = t.
Proof. intros -> ->. exact (fun H => H). Qed.

Lemma same_land (q a b c d t : Z) : q = Z.land a b -> a = c -> b = d -> Z.land c d = t -> q = t.
Proof. intros -> -> ->. exact (fun H => H). Qed.

Lemma same_power (q a b c d t : Z) : q = a ^ b -> a = c -> b = d -> c ^ d = t -> q = t.
Proof. intros -> -> ->. exact (fun H => H). Qed.

Lemma same_product (q a b c d t : Z) : q = a * b -> a = c -> b = d -> c * d = t -> q = t.
Proof. intros -> -> ->. exact (fun H => H). Qed.

Lemma quotient_whole (n d q r x t : Z) : d <> 0 -> n = q * d + r -> r / d = x -> q + x = t -> n / d = t.
Proof. intros D -> <- <-. apply Z.div_add_l. exact D. Qed.

Lemma quotient_opposite (n d m e t : Z) : m = - n -> e = - d -> m / e = t -> n / d = t.
Proof.
  intros -> -> <-. destruct (Z.eq_dec d 0) as [-> | D]; [rewrite !Zdiv_0_r; reflexivity |].
  symmetry. apply Z.div_opp_opp. exact D.
Qed.

Lemma quotient_of_zero (n d : Z) : n = 0 -> n / d = 0.
Proof. intros ->. apply Zdiv_0_l. Qed.

Lemma quotient_of_same (n d : Z) : d <> 0 -> n = d -> n / d = 1.
Proof. intros D ->. apply Z.div_same. exact D. Qed.

Lemma quotient_cancelled (n d m e k t : Z) : d <> 0 -> n = m * k -> d = e * k -> m / e = t -> n / d = t.
Proof. intros D -> -> <-. apply Z.div_mul_cancel_r; nia. Qed.

Lemma choice_is (b : bool) (v e t : Z) : v = (if b then e else 0) -> b = true -> e = t -> v = t.
Proof. intros -> ->. exact (fun H => H). Qed.

Lemma choice_is_not (b : bool) (v e t : Z) : v = (if b then e else 0) -> b = false -> 0 = t -> v = t.
Proof. intros -> ->. exact (fun H => H). Qed.

(* texts as they were written: each operation from the normal forms of its operands *)

Lemma sum_is (a b x y z : Z) : a = x -> b = y -> x + y = z -> a + b = z.
Proof. congruence. Qed.

Lemma difference_is (a b x y z : Z) : a = x -> b = y -> x - y = z -> a - b = z.
Proof. congruence. Qed.

Lemma product_is (a b x y z : Z) : a = x -> b = y -> x * y = z -> a * b = z.
Proof. congruence. Qed.

Lemma opposite_is (a x z : Z) : a = x -> - x = z -> - a = z.
Proof. congruence. Qed.

Lemma quotient_is (a b x y z : Z) : a = x -> b = y -> x / y = z -> a / b = z.
Proof. congruence. Qed.

Lemma power_is (a b x y z : Z) : a = x -> b = y -> x ^ y = z -> a ^ b = z.
Proof. congruence. Qed.

Lemma remainder_is (a b x y q z : Z) : b <> 0 -> a = x -> b = y -> x / y = q -> x - y * q = z -> a mod b = z.
Proof. intros N <- <- <- <-. rewrite Zmod_eq_full by exact N. ring. Qed.

Lemma shift_left_is (a b x y p z : Z) : 0 <= b -> a = x -> b = y -> 2 ^ y = p -> x * p = z -> Z.shiftl a b = z.
Proof. intros N <- <- <- <-. apply Z.shiftl_mul_pow2. exact N. Qed.

Lemma shift_right_is (a b x y p z : Z) : 0 <= b -> a = x -> b = y -> 2 ^ y = p -> x / p = z -> Z.shiftr a b = z.
Proof. intros N <- <- <- <-. apply Z.shiftr_div_pow2. exact N. Qed.

Lemma land_run (x m l w p k q r v : Z) :
  (0 <=? l) = true -> (0 <=? w) = true -> (m =? Z.ones w * 2 ^ l) = true -> 2 ^ l = p -> 2 ^ w = k ->
  x / p = q -> q / k = r -> (q - k * r) * p = v -> Z.land x m = v.
Proof.
  rewrite !Z.leb_le, Z.eqb_eq. intros L W -> <- <- <- <- <-.
  assert (0 < 2 ^ w) by (apply Z.pow_pos_nonneg; lia).
  replace (x / 2 ^ l - 2 ^ w * (x / 2 ^ l / 2 ^ w)) with ((x / 2 ^ l) mod 2 ^ w) by (rewrite Z.mod_eq; lia).
  rewrite <- Z.land_ones, <- Z.shiftr_div_pow2, <- !Z.shiftl_mul_pow2 by assumption.
  apply Z.bits_inj'. intros n N. rewrite Z.land_spec, !Z.shiftl_spec by assumption.
  destruct (Z.lt_ge_cases n l).
  - rewrite !(Z.testbit_neg_r _ (n - l)) by lia. apply andb_false_r.
  - rewrite Z.land_spec, Z.shiftr_spec by lia. replace (n - l + l) with n by lia. reflexivity.
Qed.

Lemma land_runs (x m k s a b v : Z) :
  (Z.land m k =? 0) = true -> (s =? m + k) = true -> Z.land x m = a -> Z.land x k = b -> a + b = v -> Z.land x s = v.
Proof.
  rewrite !Z.eqb_eq. intros D -> <- <- <-.
  rewrite (Z.add_nocarry_lxor m k D), (Z.add_nocarry_lxor (Z.land x m) (Z.land x k)).
  - apply Z.bits_inj'. intros n _. rewrite !Z.land_spec, !Z.lxor_spec, !Z.land_spec.
    destruct (Z.testbit x n), (Z.testbit m n), (Z.testbit k n); reflexivity.
  - apply Z.bits_inj'. intros n _. rewrite !Z.land_spec, Z.bits_0.
    assert (Z.testbit (Z.land m k) n = false) as B by (rewrite D; apply Z.bits_0). rewrite Z.land_spec in B.
    destruct (Z.testbit x n), (Z.testbit m n), (Z.testbit k n); cbn in *; congruence.
Qed.

Lemma max_is (a b x y d r z : Z) : a = x -> b = y -> x - y = d -> Z.max d 0 = r -> y + r = z -> Z.max a b = z.
Proof. lia. Qed.

Lemma min_is (a b x y d r z : Z) : a = x -> b = y -> x - y = d -> Z.max d 0 = r -> x - r = z -> Z.min a b = z.
Proof. lia. Qed.

Lemma abs_is (a x r z : Z) : a = x -> Z.max x 0 = r -> 2 * r - x = z -> Z.abs a = z.
Proof. lia. Qed.

Lemma factor_of_nonzero (d e k : Z) : d = e * k -> d <> 0 -> e <> 0.
Proof. intros -> N ->. apply N. reflexivity. Qed.

Lemma compared_is (f : Z -> Z -> Prop) (a b x y : Z) (P : Prop) : a = x -> b = y -> (f x y <-> P) -> (f a b <-> P).
Proof. now intros -> ->. Qed.

Lemma not_is (p P R : Prop) : (p <-> P) -> (~ P <-> R) -> (~ p <-> R).
Proof. tauto. Qed.

Lemma not_there (p P : Prop) : (p <-> P) -> ~ p -> ~ P.
Proof. tauto. Qed.

Lemma not_back (p P : Prop) : (p <-> P) -> ~ P -> ~ p.
Proof. tauto. Qed.

Lemma decided_and {P Q : Prop} : P \/ ~ P -> Q \/ ~ Q -> (P /\ Q) \/ ~ (P /\ Q).
Proof. tauto. Qed.

Lemma decided_or {P Q : Prop} : P \/ ~ P -> Q \/ ~ Q -> (P \/ Q) \/ ~ (P \/ Q).
Proof. tauto. Qed.

Lemma not_and {P Q R S : Prop} : P \/ ~ P -> (~ P <-> R) -> (~ Q <-> S) -> (~ (P /\ Q) <-> R \/ S).
Proof. tauto. Qed.

Lemma not_or {P Q R S : Prop} : (~ P <-> R) -> (~ Q <-> S) -> (~ (P \/ Q) <-> R /\ S).
Proof. tauto. Qed.

Lemma and_is (p q P Q R : Prop) : (p <-> P) -> (p -> (q <-> Q)) -> (P /\ Q <-> R) -> (p /\ q <-> R).
Proof. tauto. Qed.

Lemma or_is (p q P Q R : Prop) : P \/ ~ P -> (p <-> P) -> (~ p -> (q <-> Q)) -> (P \/ Q <-> R) -> (p \/ q <-> R).
Proof. tauto. Qed.

Lemma choice_of (c : bool) (p P : Prop) (a b z : Z) :
  (c = true <-> p) -> (p <-> P) -> P \/ ~ P -> (p -> a = z) -> (~ p -> b = z) -> (if c then a else b) = z.
Proof. intros C E D. destruct c; intuition congruence. Qed.
