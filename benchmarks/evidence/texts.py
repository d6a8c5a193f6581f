"""What the models of the evidence page read: a few texts each, written or composed for it."""

from __future__ import annotations

PROSE = [
    "The lighthouse keeper counted the steps every morning. There were one hundred and twelve of them, and he knew "
    "which "
    "ones were loose. At the top he wiped the salt from the glass, checked the oil, and wrote the weather into a book "
    "that nobody had asked for in nine years. When the storm came, the book was the first thing that he carried down.",
    "Mary and John went to the market on Saturday. Mary bought a melon, and John bought a basket of plums. On the way "
    "home John gave the plums to Mary, because the basket was too heavy for him, and Mary gave the melon to a neighbor "
    "who had lent them a ladder in the spring.",
    "To replace a fuse, switch off the main supply first. Open the box, find the fuse with the broken wire, and pull "
    "it "
    "straight out. Compare the number on its side with the number on the new one: they must be equal. Push the new "
    "fuse "
    "in until it clicks, close the box, and switch the main supply on again.",
    "The village has two bakeries. The older one opens at five, sells dark bread, and closes when the bread is gone. "
    "The "
    "newer one opens at eight, sells white bread and cakes, and closes at six. Most people buy dark bread on "
    "weekdays and "
    "cakes on Sundays, so both bakeries do well.",
]

# For pruning: the first half chooses heads, the second half measures.
MORE_PROSE = [
    "A kettle on a gas stove takes about six minutes to boil two liters of water. With a lid it takes five. Most of "
    "the heat "
    "goes up the sides and warms the kitchen, which is welcome in winter and a nuisance in July. An electric kettle "
    "wastes less, but the power station that feeds it has already thrown away half of what it burned.",
    "Dear Mr. Holm, thank you for the two boxes of tiles. One of them arrived broken, as you can see in the "
    "photograph. I "
    "do not need the money back, but I would be glad if you could send six gray tiles of the same kind before the "
    "end of "
    "the month, because the men who do the floor will come back then. Kind regards, Ines.",
    "The river is slow here. It bends around the old mill, splits at the island, and comes together again below the "
    "bridge. In dry summers children walk across to the island and back without getting their knees wet. In March the "
    "same water takes the lower fields for a week, and the farmers move their sheep to the hill.",
    "A list has three operations. The first one adds an element at the end. The second one removes the last element "
    "and "
    "returns it. The third one tells how many elements there are. With these three a program can reverse a word: it "
    "adds "
    "every letter, then it removes them one by one, and the word comes out backwards.",
    "Nobody knows who built the tower. The stones come from a quarry two valleys away, and the mortar contains shells "
    "that are found only on the coast. The door is four meters above the ground. Some say that it was a prison, others "
    "that it was a granary, and the guide says whatever the visitors seem to want.",
    "In chess the bishop moves along diagonals, so a bishop that starts on a white square stays on white squares for "
    "the "
    "whole game. The knight changes color with every move. The rook can reach every square in two moves if nothing "
    "is in "
    "its way. The pawn is the only piece that cannot go back, and the only one that can become another piece.",
    "The train to the north leaves at nine, the train to the south at half past nine. The train to the north stops at "
    "every village, so the train to the south arrives at its end earlier, although it leaves later and has farther to "
    "go. The train to the west was given up last year. A bus goes there now, twice a day.",
    "She planted beans along the fence, lettuce in the middle, and onions where the old shed had stood. The beans "
    "came up "
    "in a week. The lettuce came up in ten days and was eaten by snails in one night. The onions did nothing at all "
    "until "
    "June, and then they grew so fast that she gave a bag of them to everybody in the street.",
]

REACTIONS = [
    "CC(=O)Cl.OCC>>CCOC(C)=O",
    "Brc1ccccc1.OB(O)c1ccccc1.O=C([O-])[O-].[K+].[K+]>>c1ccc(-c2ccccc2)cc1",
    "CC(=O)O.NCc1ccccc1>>CC(=O)NCc1ccccc1",
    "O=Cc1ccccc1.[BH4-].[Na+]>>OCc1ccccc1",
]

ANTIBODIES = [
    "EVQLVESGGGLVQPGGSLRLSCAASGFTFSSYAMSWVRQAPGKGLEWVSAISGSGGSTYYADSVKGRFTISRDNSKNTLYLQMNSLRAEDTAVYYCAK",
    "QVQLVQSGAEVKKPGASVKVSCKASGYTFTSYYMHWVRQAPGQGLEWMGIINPSGGSTSYAQKFQGRVTMTRDTSTSTVYMELSSLRSEDTAVYYCAR",
    "DIQMTQSPSSLSASVGDRVTITCRASQSISSYLNWYQQKPGKAPKLLIYAASSLQSGVPSRFSGSGSGTDFTLTISSLQPEDFATYYCQQSYSTP",
    "QVQLQESGPGLVKPSETLSLTCTVSGGSISSYYWSWIRQPPGKGLEWIGYIYYSGSTNYNPSLKSRVTISVDTSKNQFSLKLSSVTAADTAVYYCAR",
]

TEXTS = {"smollm2": PROSE, "minilm": PROSE, "rxnfp": REACTIONS, "antiberty": ANTIBODIES}
