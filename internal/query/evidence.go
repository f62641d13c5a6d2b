package query

import (
	"fmt"
	"math"

	"github.com/ragdhq/ragd/internal/index"
)

// evidence converts what a search computes of a chunk, a BM25 score and a similarity, into
// log-odds that the chunk answers the question, and these into scores. It depends on the
// question and on the statistics of the index, and not on what else a search finds.
//
// The log-odds of both legs are
//
//	keywordSteepness * (bm25 / (ideal * match) * cbrt(ideal / rarest) - keywordMiddle)
//	similaritySteepness * ((z - far) / (near - far) - similarityMiddle)
//
// ideal is the sum of the weights of the question's terms, so that bm25 / (ideal * match) is
// how much of the question's information the chunk has, and ideal / rarest is how much that
// is, in terms that a single chunk has: half of a long question is less likely a coincidence
// than half of a short one. z is the stretched similarity; match, far and near are of
// index.Scale, of the calibration. A score is 1/(1 + exp(-x)) of the log-odds x of the keyword leg, or in a hybrid
// search of
//
//	vector * S + keyword * K + strong * ln(1 + exp(K - strongMiddle))
//
// less the last term for K = 0, where S and K are the log-odds of both legs, and vector and keyword their weights. The
// last term is next to nothing for a chunk that has few of the question's terms, and grows with K for one that has most
// of them: it answers whether or not the embeddings see it. Without it a verbatim phrase of common words, whose terms
// weigh little, is not found. It counts as far as the embeddings weigh, and not if they are all that counts, nor with
// the builtin model, which compares words itself.
type evidence struct {
	perKeyword      float64 // log-odds for each unit of BM25
	perSimilarity   float64 // log-odds for each unit of stretched similarity
	far             float64
	vector, keyword float64 // weights; they add up to 1
	strong          float64 // factor of what terms add that match strongly
}

// The middles are where a chunk answers the question as likely as not, found on labelled
// questions: a match of nine tenths of one rare term, and a similarity like that of the
// nearest other chunk.
const (
	keywordSteepness    = 6
	keywordMiddle       = 0.9
	similaritySteepness = 4
	similarityMiddle    = 1
	strongFactor        = 4
	strongMiddle        = 3
)

// evidence returns how the search scores chunks.
func (s search) evidence() evidence {
	if s.request.mode == Vector {
		return evidence{vector: 1}
	}
	scale := s.calibration.Scale
	e := evidence{perSimilarity: similaritySteepness / (scale.Near - scale.Far), far: scale.Far}
	switch {
	case s.keywords == nil:
		e.vector = 1
		return e
	case s.request.mode == Keyword:
		e.keyword = 1
	default:
		e.vector, e.keyword = s.fusion().weights(s.index.EmbeddingModel, s.keywords.rarity)
		if !s.index.BuiltinModel() {
			e.strong = strongFactor * e.vector * min(1, 4*e.keyword)
		}
	}
	rarest := index.InverseFrequency(1, s.keywords.total)
	if ideal := s.keywords.ideal; ideal > 0 && rarest > 0 {
		e.perKeyword = keywordSteepness * math.Cbrt(ideal/rarest) / (ideal * scale.Match)
	}
	return e
}

// fusion returns the fusion of the request, with the tuning of the index.
func (s search) fusion() Fusion { return s.request.fusion.or(s.index.VectorLogOdds()) }

// keywordScore returns the calibrated score of a BM25 score.
func (e evidence) keywordScore(bm25 float64) float64 {
	return logistic(e.perKeyword*bm25 - keywordSteepness*keywordMiddle)
}

// fusedScore returns the score of a value that fused computes.
func (e evidence) fusedScore(value float64) float64 {
	return logistic(value - e.keyword*keywordSteepness*keywordMiddle - e.vector*similaritySteepness*similarityMiddle - e.strong*softplus(-strongMiddle))
}

// fusedVector returns what the vector leg adds to the value that fused computes, for a stretched similarity.
func (e evidence) fusedVector(stretched float64) float64 {
	return e.vector * e.perSimilarity * (stretched - e.far)
}

// fusedKeyword returns what the keyword leg adds to the value that fused computes. It grows with the BM25 score.
func (e evidence) fusedKeyword(bm25 float64) float64 {
	return e.keyword*e.perKeyword*bm25 + e.strong*softplus(e.perKeyword*bm25-keywordSteepness*keywordMiddle-strongMiddle)
}

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// rrfK damps the lead of the first ranks.
const rrfK = 60

// fused returns the value by which a hybrid search ranks as SQL, over rows with a keyword
// score and a distance, which is NaN for a vector of length 0.
func (s search) fused(q *statement) string {
	e := s.evidence()
	if s.request.fusion.Method == RRF {
		value := fmt.Sprintf(`%s::float8 / (%d + row_number() OVER (ORDER BY nullif(distance, 'NaN'), chunk_id))`, q.args.Add(e.vector), rrfK)
		if e.keyword > 0 {
			value += fmt.Sprintf("\n\t\t"+`+ CASE WHEN keyword > 0 THEN %s::float8 / (%d + row_number() OVER (ORDER BY keyword DESC, chunk_id)) ELSE 0 END`,
				q.args.Add(e.keyword), rrfK)
		}
		return value
	}
	value := s.vectorEvidence(q)
	if s.keywords != nil {
		value += "\n\t\t+ " + e.fusedKeywordSQL(q)
	}
	return value
}

// fusedKeywordSQL is fusedKeyword of a row, as SQL. PostgreSQL refuses exponentials that are next to 0.
func (e evidence) fusedKeywordSQL(q *statement) string {
	value := q.args.Add(e.keyword*e.perKeyword) + "::float8 * (keyword + adjacent)"
	if e.strong == 0 {
		return value
	}
	k := "(" + q.args.Add(e.perKeyword) + "::float8 * (keyword + adjacent) - " + q.args.Add(keywordSteepness*keywordMiddle+strongMiddle) + "::float8)"
	return value + "\n\t\t+ " + q.args.Add(e.strong) + "::float8 * (greatest(" + k + ", 0) + ln(1 + exp(-least(abs(" + k + "), 30))))"
}

// vectorEvidence is fusedVector of a row with a distance, as SQL. What depends on the question
// and on the statistics of the index is a parameter, so that all questions share one prepared statement.
func (s search) vectorEvidence(q *statement) string {
	e := s.evidence()
	return fmt.Sprintf("CASE WHEN distance <> 'NaN' THEN %s::float8 * (%s - %s::float8) ELSE 0 END",
		q.args.Add(e.vector*e.perSimilarity), s.index.StretchedSQL("distance"), q.args.Add(e.far))
}
