"""TextAttack's goal and greedy search, with what was mended in them."""

import numpy as np

from muattack.attack.offline import load_textattack
from muattack.attack.similarity import Similarity
from muattack.attack.slots import SlotText
from muattack.attack.victim import Victim

textattack = load_textattack()
Status = textattack.goal_function_results.GoalFunctionResultStatus


class Untargeted(textattack.goal_functions.UntargetedClassification):
    """Make the victim name another class than the true one, within so many queries a word.

    Stock: one budget for all texts, and outputs are softmaxed again when their float32 sum is off by a millionth. Here the budget is
    `queries_per_word` times the words of the text (at least 1, the query that says whether the text is misclassified already), and the
    victim's float64 probabilities are taken as they are. The score is the sum of the other classes' probabilities: 1 - P(true)
    without the loss of digits near 1, where a confident victim would otherwise look the same whatever is changed.
    """

    def __init__(self, victim: Victim, queries_per_word: float) -> None:
        # The victim keeps its scores itself.
        super().__init__(victim, use_cache=False)
        self.queries_per_word = queries_per_word

    def init_attack_example(self, attacked_text: SlotText, ground_truth_output: int):
        """Begin a text: its budget, no queries yet; spend the first one."""
        self.query_budget = max(1, int(self.queries_per_word * attacked_text.num_words + 1e-9))
        return super().init_attack_example(attacked_text, ground_truth_output)

    def _call_model(self, attacked_text_list):
        texts, scores = attacked_text_list, []
        # Piece by piece: the candidates of a long text do not fit into memory together.
        for start in range(0, len(texts), 256):
            scores.extend(self.model([text.tokenizer_input for text in texts[start : start + 256]]))
        return scores

    def _is_goal_complete(self, model_output: np.ndarray, _) -> bool:
        return int(model_output.argmax()) != self.ground_truth_output

    def _get_score(self, model_output: np.ndarray, _) -> float:
        true = self.ground_truth_output
        return float(model_output[:true].sum() + model_output[true + 1 :].sum())


class Greedy(textattack.search_methods.GreedyWordSwapWIR):
    """Rank the words by importance, then change one after the other for the best, until the victim errs.

    Stock sorts by an order that is not stable, so that words of equal importance come in another order on another processor; and it takes
    the most similar of several successes by whatever value of similarity was at hand, where here it is the exact one. Its `weighted-saliency`
    multiplies the saliency by the score of the best substitute, where PWWS (Ren et al. 2019, Eq. 4-8) has the gain over the text as it is.
    """

    def __init__(self, wir_method: str, unknown: str, similarity: Similarity) -> None:
        super().__init__(wir_method, unk_token=unknown)
        self.similarity = similarity

    def _get_index_order(self, initial_text: SlotText, max_len: int = -1) -> tuple[list[int], bool]:
        """Return the slots by falling importance, and whether the budget is spent."""
        _, indices = self.get_indices_to_order(initial_text)
        indices = sorted(indices)
        other = "" if self.wir_method == "delete" else self.unk_token
        results, over = self.get_goal_results([initial_text.replace_word_at_index(index, other) for index in indices])
        scores = np.array([result.score for result in results])
        if self.wir_method == "weighted-saliency" and len(scores):
            gains = np.zeros(len(scores))
            for place, index in enumerate(indices[: len(scores)]):
                if over:
                    break
                candidates = self.get_transformations(initial_text, original_text=initial_text, indices_to_modify=[index])
                if candidates:
                    swapped, over = self.get_goal_results(candidates)
                    gains[place] = max((result.score for result in swapped), default=self.before) - self.before
            weights = np.exp(scores - scores.max())
            scores = weights / weights.sum() * gains
        return [indices[place] for place in np.argsort(-scores, kind="stable")], over

    def perform_search(self, initial_result):
        """Return the result that succeeded, or the last one reached."""
        original = initial_result.attacked_text
        self.before = initial_result.score
        order, over = self._get_index_order(original)
        current = initial_result
        for index in order:
            if over:
                break
            candidates = self.get_transformations(current.attacked_text, original_text=original, indices_to_modify=[index])
            if not candidates:
                continue
            results, over = self.get_goal_results(candidates)
            results = sorted(results, key=lambda result: -result.score)
            if not results or results[0].score <= current.score:
                continue
            current = results[0]
            if current.goal_status == Status.SUCCEEDED:
                failed = next((place for place, result in enumerate(results) if result.goal_status != Status.SUCCEEDED), len(results))
                best = self.similarity.most_similar([result.attacked_text for result in results[:failed]])
                return next(result for result in results[:failed] if result.attacked_text is best)
        return current
