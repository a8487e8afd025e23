"""The world the simulated scenes are taken from: what there is, where, and what it does there.

Word material only. Lists are ordered from common to rare: a drawing takes rank r with a weight of 1 / (r + 1).
Lines starting with # are comments. The tables are parsed once, when first used, by `muattack.data.scenes`.
"""
# A row of a table is one line, however long it is.

# kind | category | nouns, common to rare ("-" joins the parts of one noun, "/" gives an irregular plural)
KINDS = """
man | man | man/men man/men guy person/people gentleman/gentlemen fellow male dude
woman | woman | woman/women woman/women lady/ladies person/people female
boy | boy | boy boy little-boy kid child/children young-man/young-men lad toddler
girl | girl | girl girl little-girl kid child/children young-lady/young-ladies toddler
child | child | child/children kid child/children toddler youngster
baby | child | baby/babies infant toddler newborn
people | crowd | person/people person/people man/men adult friend tourist stranger
students | crowd | student child/children kid teenager pupil
players | crowd | player athlete teammate boy man/men
family | crowd | family-member/family-members parent relative person/people
dog | animal | dog dog puppy/puppies pup pet-dog canine hound
cat | animal | cat cat kitten kitty/kitties tabby-cat feline
bird | animal | bird bird pigeon seagull sparrow parrot crow
duck | animal | duck duck goose/geese swan mallard
horse | animal | horse horse pony/ponies stallion mare
cow | animal | cow cow bull calf/calves steer
sheep | animal | sheep/sheep sheep/sheep lamb ram ewe
goat | animal | goat goat billy-goat
giraffe | wild | giraffe giraffe giraffe animal
elephant | wild | elephant elephant elephant animal
zebra | wild | zebra zebra zebra animal
bear | wild | bear bear grizzly-bear polar-bear cub
monkey | wild | monkey ape chimp
lion | wild | lion lioness/lionesses big-cat
deer | wild | deer/deer doe antelope elk/elk
pizza | food | pizza pizza pie pizza-pie
sandwich | food | sandwich/sandwiches sandwich/sandwiches sub burger panini hoagie
cake | food | cake cake birthday-cake dessert cupcake cheesecake
donut | food | donut doughnut pastry/pastries bagel
salad | food | salad vegetable-salad dish/dishes
soup | food | soup/bowls-of-soup stew/bowls-of-stew broth/bowls-of-broth
meal | food | meal dish/dishes dinner lunch/lunches breakfast
vegetables | stuff | vegetable broccoli/broccoli carrot tomato/tomatoes pepper bean
fruit | stuff | fruit/fruit apple orange banana strawberry/strawberries grape pear
hotdog | food | hot-dog hot-dog sausage frankfurter
pancakes | food | pancake waffle crepe
pasta | food | pasta/plates-of-pasta spaghetti/plates-of-spaghetti noodle-dish/noodle-dishes
steak | food | steak piece-of-meat/pieces-of-meat roast chop
plate | ware | plate plate dish/dishes platter tray
bowl | ware | bowl bowl dish/dishes basin
cup | ware | cup mug coffee-cup glass/glasses
wine | ware | glass-of-wine/glasses-of-wine wine-glass/wine-glasses bottle-of-wine/bottles-of-wine
drink | ware | drink glass/glasses beverage beer soda juice
knife | tool | knife/knives knife/knives blade
fork | tool | fork fork spoon utensil
spoon | tool | spoon ladle spatula
pan | ware | pan skillet pot frying-pan wok
cutting_board | ware | cutting-board chopping-board board
basket | ware | basket basket wicker-basket crate
vase | ware | vase vase jar flower-pot
flowers | stuff | flower rose tulip daisy/daisies blossom
plant | plant | plant potted-plant bush/bushes shrub
tree | plant | tree tree palm-tree pine-tree oak
table | furniture | table table dining-table counter desk
desk | furniture | desk desk computer-desk table workstation
chair | furniture | chair chair armchair seat stool
couch | furniture | couch/couches couch/couches sofa loveseat futon
bed | furniture | bed bed mattress/mattresses bunk-bed
bench | furniture | bench/benches bench/benches park-bench/park-benches seat
counter | furniture | counter counter countertop kitchen-counter island
shelf | furniture | shelf/shelves bookcase bookshelf/bookshelves cabinet
toilet | fixture | toilet toilet commode
sink | fixture | sink sink basin washbasin
tub | fixture | bathtub tub shower
mirror | fixture | mirror mirror looking-glass/looking-glasses
refrigerator | appliance | refrigerator fridge freezer
stove | appliance | stove oven range cooker
microwave | appliance | microwave microwave-oven toaster
window | fixture | window window window-pane
lamp | fixture | lamp light lantern chandelier
television | device | television tv television-set flat-screen screen
laptop | device | laptop laptop laptop-computer computer notebook
computer | device | computer computer-monitor monitor desktop screen
keyboard | device | keyboard mouse/mice
phone | device | cell-phone phone phone smartphone mobile-phone
camera | device | camera camera video-camera
remote | device | remote controller game-controller remote-control
book | item | book book novel magazine
newspaper | item | newspaper paper magazine
guitar | item | guitar violin drum
clock | fixture | clock clock wall-clock timepiece
sign | fixture | sign street-sign stop-sign billboard
traffic_light | fixture | traffic-light stop-light street-light traffic-signal
hydrant | fixture | fire-hydrant hydrant
fountain | fixture | fountain statue sculpture
suitcase | item | suitcase suitcase bag piece-of-luggage/pieces-of-luggage
backpack | item | backpack bag knapsack
handbag | item | purse handbag bag
umbrella | item | umbrella umbrella parasol
towel | item | towel blanket
blanket | item | blanket quilt rug
pillow | item | pillow cushion
teddy | item | teddy-bear stuffed-animal toy doll
balloon | item | balloon ribbon
kite | item | kite kite colorful-kite
frisbee | item | frisbee frisbee disc
ball | item | ball soccer-ball ball
bat | item | bat baseball-bat bat
glove | item | glove mitt baseball-glove
racket | item | racket tennis-racket racquet
skateboard | item | skateboard skateboard board longboard
surfboard | item | surfboard surfboard board
skis | pair | ski ski-pole
snowboard | item | snowboard board snowboard
toothbrush | item | toothbrush/toothbrushes tooth-brush/tooth-brushes comb
scissors | item | pair-of-scissors/pairs-of-scissors scissor
bicycle | vehicle | bike bicycle bike mountain-bike
motorcycle | vehicle | motorcycle motorbike bike scooter moped
car | vehicle | car car vehicle sedan taxi
bus | vehicle | bus/buses bus/buses double-decker-bus/double-decker-buses city-bus/city-buses coach/coaches
truck | vehicle | truck truck pickup fire-truck lorry/lorries
van | vehicle | van minivan wagon
train | vehicle | train train passenger-train locomotive subway-train
tram | vehicle | tram trolley streetcar
airplane | vehicle | airplane plane jet airliner aircraft/aircraft
helicopter | vehicle | helicopter chopper
boat | vehicle | boat boat sailboat ship canoe
raft | vehicle | kayak canoe raft paddle-board
tractor | vehicle | tractor plow
cart | vehicle | cart carriage wagon stroller
building | structure | building building house tower skyscraper
church | structure | church/churches cathedral castle chapel
bridge | structure | bridge bridge overpass/overpasses
fence | structure | fence fence railing gate
barn | structure | barn shed cabin hut
tent | structure | tent canopy/canopies booth
wave | nature | wave wave surf/waves
mountain | nature | mountain mountain hill cliff
rock | nature | rock boulder stone
hay | nature | bale-of-hay/bales-of-hay haystack
log | nature | log branch/branches stump
cloud | nature | cloud cloud
cage | structure | cage pen enclosure
"""

# category | slot | share of objects that have it | values, common to rare
ATTRIBUTES = """
man | age | .45 | young old older elderly tall bald bearded middle-aged handsome muscular skinny slim shirtless grown
man | mood | .16 | happy serious busy tired excited proud casual calm confident bored angry nervous friendly curious
woman | age | .45 | young old older pretty beautiful elderly attractive blonde tall middle-aged pregnant lovely slender elegant
woman | mood | .16 | happy busy serious excited cheerful tired friendly proud calm bored curious nervous thoughtful
boy | age | .40 | young small little cute blonde tiny adorable skinny
boy | mood | .20 | happy excited curious playful brave shy hungry silly sad sleepy
girl | age | .40 | young small little cute pretty blonde adorable tiny sweet
girl | mood | .20 | happy excited curious playful shy hungry silly sad sleepy cheerful
child | age | .40 | young small little cute tiny adorable chubby
child | mood | .22 | happy curious sleepy hungry playful messy sad innocent
crowd | age | .30 | young old older different various elderly foreign
crowd | mood | .18 | happy busy excited casual friendly tired noisy hungry patient
animal | size | .42 | large small big little tiny huge fat skinny massive
animal | colour | .50 | brown black white grey tan orange golden yellow
animal | coat | .16 | fluffy furry shaggy spotted striped wet muddy hairy dirty
animal | mood | .16 | cute sleepy lazy curious playful hungry adorable tame calm gentle friendly lonely alert fierce
wild | size | .42 | large tall small big huge baby adult young giant enormous massive
wild | mood | .20 | wild lazy curious hungry gentle calm majestic lonely dangerous thirsty alert
wild | colour | .16 | brown grey white black tan dusty
food | taste | .40 | delicious fresh hot tasty freshly-made cheesy homemade freshly-baked healthy crispy sweet greasy yummy spicy juicy creamy
food | look | .30 | large small sliced whole frosted half-eaten round big thick fancy colorful tiny
stuff | look | .55 | fresh red green yellow colorful ripe purple pink organic raw healthy assorted sweet rotten bright
ware | colour | .45 | white blue red green black clear brown pink
ware | look | .35 | small large empty full round ceramic clean dirty wooden shallow deep fancy square
tool | look | .35 | large sharp small big silver plastic metal wooden long shiny
furniture | look | .42 | wooden small large neatly-made comfortable old modern empty round long leather antique soft square cozy messy heavy metal
furniture | colour | .28 | white brown black red green blue grey
fixture | look | .38 | large small old modern clean dirty broken big tall bright decorative ornate round square fancy
fixture | colour | .28 | white red black green yellow blue silver
appliance | look | .40 | modern old stainless new large clean small electric dirty huge
appliance | colour | .35 | white silver black red
device | look | .38 | small open old large new big digital portable flat expensive wireless tiny
device | colour | .25 | black white silver pink red
item | colour | .50 | red blue black white green yellow pink orange brown purple grey
item | look | .30 | small large old big new colorful open bright long heavy tiny broken
pair | colour | .35 | red blue black white yellow
vehicle | colour | .50 | red white blue black green yellow silver orange grey pink
vehicle | look | .42 | large old small big vintage new modern long parked antique colorful fast rusty shiny classic dirty abandoned expensive
plant | look | .50 | green large tall small bare leafy big dead dry healthy tropical lush
structure | look | .55 | tall large old brick wooden big historic modern stone high ancient small abandoned metal famous gothic rustic
structure | colour | .20 | white red brown grey green
nature | look | .60 | large big small huge snowy rocky steep distant white rough gentle round dark fluffy
"""

# place | weight rank group 1 (common) to 4 (rare) | inside/outside | head nouns | at-phrases (~ takes an adjective) | along-phrases | adjectives | things around
PLACES = """
kitchen | 1 | in | kitchen | in a ~kitchen; in the ~kitchen; in a ~home kitchen | around the ~kitchen | small clean modern messy brightly-lit white bright large tidy cluttered spacious tiny cozy narrow | refrigerator stove sink window microwave bowl table plant clock
restaurant | 1 | in | restaurant cafe diner | at a ~restaurant; in a ~restaurant; at a ~cafe; in the ~dining room; inside a ~diner | through a ~restaurant | busy fancy crowded dimly-lit small dark cozy italian outdoor empty popular noisy cheap | wine cup lamp table window chair drink flowers
living_room | 1 | in | living-room lounge | in a ~living room; in the ~living room; in a ~lounge; at home | around the ~living room | cozy small bright brightly-lit large modern messy nicely-decorated comfortable dim clean elegant spacious | lamp television couch window table shelf plant pillow
bedroom | 2 | in | bedroom hotel-room | in a ~bedroom; in the ~bedroom; in a ~hotel room; in a ~room | across the ~room | small dark clean messy bright tidy cozy simple neat luxurious | lamp pillow window desk mirror blanket book
bathroom | 2 | in | bathroom restroom | in a ~bathroom; in the ~bathroom; inside a ~restroom; in a ~public restroom | across the ~bathroom | small clean white dirty public tiny modern narrow bright blue | mirror sink toilet towel tub window
office | 2 | in | office room | in an ~office; in the ~office; at work; in a ~room | through the ~office | messy small modern cluttered busy quiet clean home dark corporate | computer phone keyboard shelf lamp cup chair window
street | 1 | out | street city-street road | on a ~street; on the ~street; on a ~city street; in the ~city; on the side of a ~road; at a ~corner | down the ~street; across a ~street; down a ~road; along a ~sidewalk; through the ~city | busy crowded narrow wet empty quiet dark urban wide dusty long main steep residential | car building sign traffic_light tree hydrant bus bicycle church
beach | 1 | out | beach shore | on the ~beach; at the ~beach; on a ~beach; near the ~ocean; by the ~sea; on the ~sand | along the ~beach; down a ~beach; across the ~sand; along the ~shore | sandy sunny crowded empty tropical beautiful rocky calm deserted windy blue wide | umbrella wave boat towel rock chair bird
ocean | 2 | out | ocean sea | in the ~ocean; in the ~water; on the ~sea; out at ~sea; off the ~coast | across the ~water; through the ~ocean; over the ~waves | blue rough calm deep choppy clear wild cold stormy vast | wave boat rock bird cloud
park | 1 | out | park | in a ~park; in the ~park; at a ~park; on the ~grass; on a ~lawn | through a ~park; across the ~grass; along a ~path; around the ~park | grassy green sunny public beautiful shady quiet large peaceful lush open | tree bench fountain bicycle flowers dog fence
field | 1 | out | field meadow pasture | in a ~field; in the ~field; in a ~pasture; on a ~hillside; in a ~meadow | across a ~field; through a ~meadow; over a ~hill | grassy green open dry large lush empty muddy flat wide golden | fence tree mountain barn rock cloud hay
zoo | 2 | out | zoo enclosure | at the ~zoo; in a ~zoo; in an ~enclosure; in a ~pen; at a ~zoo | around an ~enclosure; through the ~zoo | large rocky grassy local dusty small shady fenced dry | fence rock tree log people cage
savanna | 3 | out | plain savanna | in the ~wild; on the ~plains; on the ~savanna; in a ~clearing; by a ~water hole | across the ~plains; through the ~brush; across a ~savanna | dry grassy open wild dusty african vast hot flat | tree bird rock log cloud
ski_slope | 2 | out | ski-slope mountain | on a ~slope; on the ~mountain; in the ~snow; at a ~ski resort; on a ~hill | down a ~slope; down the ~mountain; through the ~snow; down a ~hill | snowy steep white cold icy high deep powdery smooth beautiful | tree mountain people fence building
skate_park | 2 | out | skate-park ramp | at a ~skate park; at the ~skate park; on a ~ramp; in a ~parking lot | down a ~ramp; across a ~parking lot; up a ~ramp | concrete large empty urban steep local busy wooden | bench people fence building bicycle
tennis_court | 2 | out | tennis-court court | on a ~tennis court; on the ~court; at a ~tennis match; on a ~court | across the ~court | blue green outdoor clay professional indoor hard sunny grassy | people fence ball sign chair
ball_field | 2 | out | baseball-field field | on a ~baseball field; on the ~field; at a ~baseball game; at home plate; in a ~stadium | across the ~field; around the ~bases | green large grassy dirt muddy professional crowded local dusty | people fence glove bench sign
station | 2 | out | train-station platform | at a ~train station; at the ~station; on the ~platform; on the ~tracks; next to a ~platform | down the ~tracks; along the ~platform; through a ~station | busy empty old crowded underground small modern dark rural outdoor | people building sign clock bench suitcase bridge
airport | 3 | out | airport runway | at an ~airport; at the ~airport; on the ~runway; on the ~tarmac; on a ~runway | down the ~runway; across the ~tarmac; through an ~airport | busy wet large international empty foggy long crowded | building truck people suitcase cloud helicopter
harbor | 3 | out | harbor dock marina | in a ~harbor; at the ~dock; in the ~marina; at a ~pier; near the ~docks | across the ~harbor; along the ~pier; past the ~docks | calm busy small quiet crowded blue old picturesque large | building bridge bird church rock people
lake | 2 | out | lake pond | on a ~lake; by the ~lake; near a ~pond; in a ~pond; on the ~water; at the ~lake | across a ~lake; along the ~water; around the ~pond | calm small quiet blue clear large peaceful murky still shallow frozen | tree bird boat mountain rock bench
river | 3 | out | river stream | on a ~river; by the ~river; in a ~river; next to a ~stream; along the ~bank | down the ~river; across a ~stream; along the ~river | wide shallow calm muddy narrow fast clear rocky deep | bridge tree rock boat building
forest | 3 | out | forest wooded-area | in the ~woods; in a ~forest; in a ~wooded area; on a ~trail | through the ~woods; along a ~trail; down a ~path | dense thick dark green quiet lush tropical misty muddy | tree log rock tent rock bird
farm | 2 | out | farm barnyard | on a ~farm; at the ~farm; in a ~barnyard; near a ~barn; in a ~stable | across the ~farm; around a ~barnyard | small old muddy dusty rural dry large quiet organic | barn fence tractor hay tree truck
market | 3 | out | market farmers-market | at a ~market; in the ~market; at a ~farmers market; in a ~store; at a ~stand | through a ~market; past the ~stands | busy outdoor local crowded open colorful fresh foreign small | people basket tent sign cart umbrella
garden | 3 | out | garden yard backyard | in a ~garden; in the ~yard; in a ~backyard; on a ~patio; on the ~porch | across the ~yard; through a ~garden | lush small green sunny beautiful pretty colorful overgrown shady quiet | flowers tree fence bench chair plant table
parking_lot | 3 | out | parking-lot driveway | in a ~parking lot; in the ~parking lot; in a ~driveway; on the ~curb; in front of a ~garage | across a ~parking lot; through a ~driveway | empty large wet crowded full busy snowy narrow | car truck building sign tree fence
highway | 3 | out | highway road | on a ~highway; on the ~road; on a ~freeway; on a ~country road | down a ~highway; along a ~road; down the ~freeway | long busy empty dusty winding rural wet narrow straight dark | car truck sign mountain bridge tree
sky | 3 | out | sky | in the ~sky; in a ~sky; in the ~air; over a ~city; above the ~trees | through the ~sky; across a ~sky; over the ~trees | blue clear cloudy bright dark grey overcast sunny beautiful | cloud tree building bird mountain
classroom | 4 | in | classroom library | in a ~classroom; in the ~library; at ~school; in a ~library | around a ~classroom | quiet bright large small busy noisy crowded | desk book computer shelf clock window
gym | 4 | in | gym hall | in a ~gym; in a ~hall; at a ~party; in a ~ballroom | across the ~hall | large crowded brightly-lit bright empty noisy festive busy | people balloon table lamp sign
museum | 4 | in | museum gallery | in a ~museum; at a ~museum; in a ~gallery; on ~display | through a ~museum | large famous quiet bright empty old historic | people sign lamp airplane fountain
shop | 4 | in | shop store bakery | in a ~shop; in a ~store; at a ~bakery; in a ~window | through a ~store | small local busy fancy bright old crowded little | shelf sign basket people clock
playground | 4 | out | playground schoolyard | at a ~playground; on a ~playground; in a ~schoolyard | across a ~playground; around the ~playground | sunny small busy empty colorful muddy | bench tree fence ball people bicycle
desert | 4 | out | desert dirt-lot | in the ~desert; on a ~dirt road; in the ~dirt | across the ~desert; down a ~dirt road | dry hot dusty empty sandy barren vast | rock mountain truck cloud fence
city_square | 4 | out | square plaza | in a ~square; in a ~plaza; outside a ~building; in ~downtown | across a ~plaza; around the ~square | busy public crowded historic old famous empty | fountain people building clock umbrella bird church
"""

# action | phrases: the first word is the verb, *participle stays as it is; {o} second object, {p} his/her/its/their | manners | a doer's other nouns
ACTIONS = """
surf | ride a wave; surf a wave; surf on {o}; ride a wave on {o}; catch a wave; ride {o}; balance on {o} | fast gracefully skillfully easily confidently carefully expertly smoothly low | surfer
carry_board | hold {o}; carry {o}; walk with {o}; stand with {o}; pose with {o} | proudly casually slowly alone carefully happily | surfer
swim | swim; play in the water; splash around; wade into the water; float | happily slowly calmly together quietly freely | swimmer
walk | walk; stroll; take a walk; walk with {o}; walk past {o} | slowly together quickly alone casually briskly quietly away leisurely | pedestrian
run | run; jog; race; sprint; run past {o} | fast quickly freely swiftly wildly together hard energetically | runner
sit | sit; sit on {o}; relax on {o}; rest; sit next to {o}; take a seat on {o} | quietly together alone comfortably outside calmly patiently peacefully politely upright | -
stand | stand; stand next to {o}; wait; pose next to {o}; stand near {o} | together alone quietly outside still patiently proudly closely calmly | -
lie | lay on {o}; lie on {o}; lay down; stretch out on {o}; rest on {o} | comfortably lazily down peacefully quietly flat | -
sleep | sleep; sleep on {o}; take a nap on {o}; nap; doze on {o}; *curled up on {o} | peacefully soundly quietly comfortably deeply together | -
eat | eat {o}; enjoy {o}; take a bite of {o}; have {o}; share {o} | hungrily happily quickly messily slowly quietly eagerly together | -
drink | drink from {o}; sip from {o}; hold {o}; have a drink | slowly quietly happily thirstily casually | -
graze | graze; eat grass; feed on the grass; munch on grass; graze next to {o} | peacefully quietly together lazily calmly slowly freely | -
browse | eat leaves from a tree; reach for leaves; feed on {o}; eat from {o}; stretch {p} neck to reach a branch | hungrily slowly gracefully high quietly calmly together | -
wander | walk; wander; roam; stand around; move past {o} | slowly freely together aimlessly closely quietly alone calmly | -
look | look at {o}; stare at {o}; look out at {o}; watch {o}; gaze at {o} | curiously intently closely directly carefully quietly seriously away longingly | -
play_toy | play with {o}; chase {o}; bite {o}; hold {o} in {p} mouth; jump for {o} | happily playfully excitedly wildly eagerly roughly | -
throw | throw {o}; toss {o}; play with {o}; catch {o}; reach for {o} | high hard happily quickly skillfully together playfully | -
fly_kite | fly {o}; hold {o}; launch {o}; watch {o}; play with {o} | high happily together easily excitedly | -
tennis | swing {o}; play tennis; hit a ball with {o}; hold {o}; serve a ball; reach for the ball with {o} | hard quickly skillfully fiercely forcefully intently high professionally | tennis-player player
bat | swing {o}; hold {o}; get ready to hit the ball; play baseball; hit a ball with {o} | hard quickly skillfully fiercely intently confidently nearly | batter baseball-player player
pitch | throw a ball; pitch a ball; catch a ball with {o}; play baseball; hold {o} | hard fast quickly skillfully overhand forcefully | pitcher baseball-player player
soccer | kick {o}; play soccer; chase {o}; run after {o}; play a game of soccer | hard fast quickly fiercely together aggressively energetically | soccer-player player
ski | ski; ride on {o}; stand on {o}; ski on {o}; race | fast quickly smoothly carefully gracefully downhill swiftly skillfully | skier
snowboard | snowboard; ride {o}; jump on {o}; do a trick on {o}; stand on {o} | fast high skillfully smoothly quickly downhill wildly | snowboarder
skate | ride {o}; do a trick on {o}; jump {o}; skateboard; perform a trick on {o}; grind a rail | high fast skillfully carefully smoothly wildly nearly daringly | skateboarder skater
ride_bike | ride {o}; sit on {o}; cycle; pedal {o}; travel on {o} | fast slowly carefully casually safely together leisurely quickly | cyclist biker rider
ride_horse | ride {o}; sit on {o}; lead {o}; trot on {o}; stand beside {o} | slowly proudly carefully gracefully together confidently calmly | rider jockey cowboy
cook | cook {o}; prepare {o}; make {o}; stand over {o}; cook a meal; stir {o} | carefully happily busily quickly skillfully slowly | chef cook
cut | cut {o}; slice {o}; cut into {o}; cut {o} with a knife; serve {o} | carefully neatly evenly slowly thinly skillfully | chef baker
serve | hold {o}; serve {o}; carry {o}; bring {o} to a table; show {o} | proudly politely carefully happily | waiter chef server
wash | wash {o}; clean {o}; stand at {o}; fix {o}; use {o} | carefully thoroughly busily quickly | -
brush | brush {p} teeth; hold {o}; brush {p} teeth with {o}; use {o} | carefully happily thoroughly quickly | -
selfie | take a picture; take a photo with {o}; pose in front of {o}; hold {o}; smile for the camera | happily proudly seriously together brightly | photographer
phone | talk on {o}; use {o}; look at {o}; text on {o}; hold {o} | quietly busily intently seriously casually loudly happily | -
type | work on {o}; use {o}; type on {o}; sit in front of {o}; look at {o} | busily intently quietly hard comfortably seriously diligently | -
read | read {o}; hold {o}; look through {o}; sit with {o} | quietly intently alone silently comfortably carefully | reader
game | play a video game; hold {o}; play a game with {o}; play with {o}; swing {o} | excitedly happily together intently wildly | gamer
talk | talk; have a conversation; chat; stand in a group; gather around {o} | happily together loudly quietly casually excitedly | -
celebrate | celebrate; cut {o}; gather around {o}; blow out candles on {o}; pose with {o} | happily together excitedly cheerfully loudly | -
hold_item | hold {o}; carry {o}; pose with {o}; show {o}; hug {o} | proudly happily tightly carefully closely gently upside-down | -
umbrella | hold {o}; walk under {o}; stand under {o}; walk with {o}; share {o} | closely together slowly quickly quietly | pedestrian
wait | wait for {o}; stand in line; wait with {o}; sit with {o}; get on {o} | patiently quietly together anxiously alone outside | passenger traveler commuter
sell | sell {o}; stand behind a table of {o}; shop for {o}; look at {o}; pick up {o} | busily patiently cheerfully carefully loudly | vendor seller shopper
farm_work | feed {o}; pull {o}; drive {o}; lead {o}; work with {o} | slowly carefully gently hard patiently | farmer worker
row | paddle {o}; row {o}; sit in {o}; travel in {o}; ride in {o} | slowly calmly together quietly gently hard | rower
park | *parked next to {o}; *parked; sit next to {o}; *parked in front of {o}; *stopped near {o} | neatly outside closely illegally nearby alone side-by-side tightly | -
drive | drive; travel; drive past {o}; move past {o}; make a turn near {o} | slowly fast quickly carefully away smoothly safely | -
pull_in | pull into the station; travel past {o}; move past {o}; *stopped next to {o}; arrive | slowly fast quickly smoothly away soon | -
fly | fly; fly over {o}; soar; pass over {o}; glide | high low fast overhead gracefully alone smoothly freely | -
take_off | take off; land; prepare to land; *parked near {o}; taxi past {o} | slowly smoothly safely away low | -
sail | sail; float; *docked next to {o}; drift past {o}; *anchored near {o} | slowly calmly peacefully smoothly gently quietly alone | -
float_bird | swim; float; paddle past {o}; glide; swim near {o} | gracefully peacefully slowly together quietly calmly | -
perch | perch on {o}; sit on {o}; stand on {o}; *perched on {o}; rest on {o} | alone quietly proudly still high peacefully closely | -
served | *served on {o}; sit on {o}; *placed on {o}; *displayed on {o}; lay on {o} | neatly nicely beautifully freshly simply fully | -
topped | *topped with {o}; *filled with {o}; *covered with {o}; *served with {o}; *garnished with {o} | heavily freshly fully nicely lightly generously completely | -
contain | *filled with {o}; hold {o}; contain {o}; *full of {o}; sit next to {o} | completely nearly neatly fully mostly almost | -
stand_thing | sit next to {o}; *placed beside {o}; stand next to {o}; *mounted near {o}; *located by {o} | neatly nicely alone closely simply together | -
furnished | *covered with {o}; sit next to {o}; *decorated with {o}; *set with {o}; *placed near {o} | neatly nicely simply beautifully brightly fully tastefully | -
tower | tower over {o}; stand above {o}; rise over {o}; *located near {o}; *surrounded by {o} | high proudly nearly completely brightly directly | -
"""

# place | weight | main kinds, common to rare | counts | action | second kinds, common to rare (- for none)
EVENTS = """
kitchen | 5 | man woman people boy girl | 1 1 1 1 2 | cook | meal pan soup pasta vegetables steak pancakes
kitchen | 4 | man woman girl boy | 1 1 1 2 | cut | pizza cake vegetables fruit sandwich steak
kitchen | 2 | woman man boy | 1 | wash | sink plate pan bowl stove
kitchen | 3 | refrigerator stove microwave sink counter table | 1 1 1 2 | stand_thing | counter stove refrigerator window sink microwave
kitchen | 2 | vegetables fruit donut cake | 3 9 9 | served | counter plate cutting_board bowl table pan
kitchen | 2 | cat dog | 1 1 2 | look | refrigerator bowl sink window meal
kitchen | 2 | people family students | 2 3 9 | talk | table counter cake stove
kitchen | 1 | bowl pan cup basket | 1 1 2 | contain | vegetables fruit soup pasta
restaurant | 5 | woman man people girl boy child | 1 1 2 3 | eat | pizza sandwich cake meal pasta hotdog salad donut soup pancakes steak
restaurant | 4 | people family man woman | 2 3 9 9 | sit | table chair bench couch
restaurant | 6 | pizza sandwich hotdog cake salad steak pasta meal pancakes soup donut | 1 1 1 1 2 | served | plate table bowl plate basket counter
restaurant | 5 | pizza plate salad cake bowl sandwich | 1 1 1 2 | topped | vegetables fruit flowers salad
restaurant | 2 | man woman people | 1 1 2 | serve | pizza cake plate wine meal drink donut
restaurant | 2 | woman man people | 1 2 2 3 | drink | wine cup drink
restaurant | 2 | table counter | 1 1 9 | furnished | plate wine cup flowers bowl meal
living_room | 4 | cat dog cat | 1 1 1 2 | sleep | couch chair bed blanket pillow table
living_room | 3 | man woman people | 1 1 2 3 | sit | couch chair couch bench
living_room | 4 | man boy people woman girl students | 1 2 2 3 | game | remote television remote
living_room | 2 | man woman girl people | 1 1 2 | type | laptop computer laptop
living_room | 3 | couch table chair television lamp | 1 1 2 | furnished | pillow lamp table blanket flowers book television
living_room | 2 | cat dog baby | 1 | look | television window laptop mirror camera
living_room | 2 | baby child girl boy | 1 1 2 | hold_item | teddy book phone remote balloon
living_room | 1 | people family students | 3 9 | celebrate | cake balloon table
bedroom | 4 | cat dog man woman child baby | 1 1 1 2 | sleep | bed blanket pillow bed
bedroom | 3 | bed bed desk lamp | 1 1 1 2 | furnished | pillow blanket lamp window book
bedroom | 2 | woman man girl | 1 | lie | bed couch
bedroom | 2 | woman girl man | 1 | read | book newspaper laptop
bedroom | 2 | child girl boy baby | 1 1 2 | hold_item | teddy blanket book
bedroom | 1 | man woman | 1 | type | laptop computer
bathroom | 4 | toilet sink tub mirror | 1 1 1 2 | stand_thing | sink toilet mirror tub window towel
bathroom | 3 | woman man girl boy child | 1 1 1 2 | brush | toothbrush
bathroom | 2 | man woman | 1 | selfie | mirror phone camera
bathroom | 2 | cat dog | 1 | sit | sink toilet tub
bathroom | 1 | man woman | 1 | wash | sink toilet dog tub
office | 5 | man woman people students | 1 1 1 2 | type | laptop computer keyboard desk
office | 3 | computer laptop desk keyboard phone | 1 1 2 3 | stand_thing | keyboard phone desk cup lamp book
office | 2 | man woman | 1 1 2 | phone | phone
office | 2 | people students | 3 9 | talk | table computer desk
office | 1 | cat | 1 | lie | keyboard desk laptop chair
street | 4 | bus truck car tram van | 1 1 1 2 | drive | building car church traffic_light people
street | 4 | people man woman students | 1 2 3 9 | walk | umbrella dog cart suitcase building
street | 3 | car motorcycle bicycle truck bus | 1 1 2 9 | park | building car fence sign tree hydrant
street | 4 | man woman people | 1 1 2 3 | ride_bike | bicycle motorcycle bicycle
street | 3 | sign traffic_light clock hydrant building | 1 1 2 | tower | building tree people car
street | 3 | woman man people girl | 1 1 2 3 | umbrella | umbrella
street | 2 | man woman | 1 | phone | phone
street | 2 | people man woman | 1 2 3 9 | wait | bus traffic_light suitcase tram
street | 2 | horse horse dog | 1 1 2 | walk | cart car people
street | 1 | boy man girl | 1 1 2 | skate | skateboard
beach | 4 | man woman people boy girl | 1 1 1 2 3 | carry_board | surfboard
beach | 3 | people man woman child family | 1 2 3 9 | walk | dog umbrella wave surfboard
beach | 3 | people man boy girl child | 1 2 3 9 | fly_kite | kite
beach | 3 | people woman man family | 1 2 3 9 | sit | chair towel bench blanket
beach | 2 | dog horse | 1 1 2 | run | wave people ball
beach | 2 | bird bird | 1 2 9 | stand | rock wave log
beach | 1 | people boy girl | 2 3 | throw | frisbee ball
beach | 1 | umbrella chair boat | 1 2 9 | stand_thing | towel chair boat umbrella
ocean | 6 | man woman people boy girl | 1 1 1 2 | surf | surfboard
ocean | 3 | boat raft | 1 1 2 9 | sail | rock mountain boat bridge
ocean | 2 | people boy girl child | 1 2 3 9 | swim | -
ocean | 2 | bird | 1 2 9 | fly | wave boat rock
park | 4 | man boy people girl woman dog | 1 1 2 3 | throw | frisbee ball frisbee
park | 3 | people man woman people | 1 1 2 3 | sit | bench blanket chair
park | 3 | dog dog | 1 1 2 | play_toy | frisbee ball log teddy
park | 2 | people man boy girl child | 1 2 9 | fly_kite | kite
park | 2 | man woman people | 1 2 3 | walk | dog cart bicycle dog
park | 2 | bench fountain tree | 1 1 2 | stand_thing | tree flowers fence fountain
park | 1 | woman man | 1 | read | book newspaper
park | 2 | bird duck | 1 2 9 | perch | bench tree fence
field | 5 | sheep cow horse goat | 1 2 3 9 9 | graze | fence tree barn hay
field | 3 | horse cow sheep dog | 1 2 2 3 | stand | fence tree barn hay mountain
field | 2 | man woman people girl | 1 1 2 3 | ride_horse | horse
field | 3 | players boy students girl man | 2 3 9 | soccer | ball
field | 2 | dog horse | 1 1 2 | run | fence ball tree
field | 2 | people boy man girl | 1 2 9 | fly_kite | kite
field | 1 | airplane truck tractor | 1 | park | barn tree fence
zoo | 6 | giraffe elephant zebra giraffe | 1 2 2 3 9 | stand | fence tree rock log
zoo | 4 | giraffe elephant giraffe | 1 1 2 | browse | tree basket hay log
zoo | 3 | bear monkey lion | 1 1 2 | lie | rock log hay
zoo | 2 | bear lion elephant deer | 1 1 2 3 | wander | fence rock people
zoo | 2 | people child girl boy family | 1 2 3 9 | look | giraffe elephant bear zebra monkey lion
savanna | 4 | elephant giraffe zebra deer | 1 2 3 9 9 | wander | tree log rock
savanna | 4 | zebra giraffe elephant deer | 1 2 3 9 | graze | tree bird rock
savanna | 1 | lion | 1 2 3 | lie | rock log
ski_slope | 6 | man woman people boy girl child | 1 1 1 2 3 9 | ski | skis
ski_slope | 4 | man boy woman people | 1 1 1 2 | snowboard | snowboard
ski_slope | 2 | people man woman family | 1 2 3 9 | stand | tree fence skis
skate_park | 7 | boy man people girl students | 1 1 1 2 3 | skate | skateboard
skate_park | 1 | boy man | 1 | ride_bike | bicycle
tennis_court | 7 | man woman girl boy people | 1 1 1 1 2 | tennis | racket
tennis_court | 1 | people man woman | 2 2 3 | stand | racket fence
ball_field | 5 | man boy players girl | 1 1 1 2 | bat | bat
ball_field | 4 | man boy players | 1 1 1 3 | pitch | glove ball
ball_field | 2 | players students people | 2 3 9 | soccer | ball
station | 6 | train train tram | 1 1 1 2 | pull_in | building bridge people train
station | 3 | people man woman family | 1 2 3 9 | wait | train suitcase train bus
station | 2 | train tram | 1 1 2 | park | train building people
station | 1 | woman man | 1 2 | walk | suitcase backpack train
airport | 5 | airplane airplane helicopter | 1 1 1 2 | take_off | building truck airplane
airport | 3 | airplane | 1 1 2 3 | park | truck building airplane
airport | 2 | people man woman family | 1 2 9 | wait | suitcase airplane backpack
harbor | 5 | boat boat | 1 2 3 9 9 | sail | building boat bridge
harbor | 2 | bird | 1 1 2 9 | perch | fence rock boat
harbor | 1 | people man woman | 1 2 | look | boat bird bridge
lake | 3 | duck bird | 1 2 3 9 | float_bird | rock boat log
lake | 3 | man people woman | 1 1 2 3 | row | raft boat
lake | 2 | people man woman | 1 2 2 | sit | bench rock chair
lake | 1 | elephant dog cow | 1 1 2 3 | drink | -
river | 3 | boat raft | 1 1 2 3 | sail | bridge building tree
river | 2 | elephant bear horse dog | 1 1 2 3 | walk | rock tree
river | 2 | people man woman | 1 2 3 | row | raft boat
forest | 3 | bear deer bird | 1 1 1 2 | wander | tree log rock
forest | 3 | man people woman | 1 2 3 | walk | backpack dog horse bicycle
forest | 2 | man people woman | 1 1 2 3 | ride_bike | bicycle bicycle
farm | 4 | cow sheep horse goat | 1 2 3 9 | stand | fence barn hay tractor
farm | 3 | man woman people boy girl | 1 1 2 | farm_work | cow horse sheep tractor goat cart
farm | 2 | cow goat sheep horse | 1 2 3 9 | eat | hay
farm | 1 | truck tractor | 1 1 2 | park | barn fence tree
market | 5 | people man woman | 1 1 2 9 | sell | fruit vegetables flowers donut hotdog
market | 4 | fruit vegetables flowers donut | 9 9 9 | served | table basket cart shelf
market | 1 | basket cart table | 1 2 3 | contain | fruit vegetables flowers
garden | 3 | cat dog bird | 1 1 1 2 | look | flowers bird window plant
garden | 3 | vase flowers plant | 1 1 9 | stand_thing | table window bench fence
garden | 2 | people family man woman | 1 2 3 9 | eat | meal cake hotdog fruit sandwich
garden | 2 | boy girl child dog | 1 1 2 | play_toy | ball teddy balloon frisbee
garden | 1 | cat dog | 1 1 2 | lie | bench chair table
parking_lot | 5 | car truck motorcycle bus van | 1 1 2 3 9 | park | car building fence truck tree
parking_lot | 2 | man woman people | 1 2 3 | stand | motorcycle car truck bus
parking_lot | 1 | dog cat | 1 | sit | car truck bench
highway | 4 | truck bus car van | 1 1 2 9 | drive | mountain sign car bridge
highway | 3 | man people woman | 1 1 2 9 | ride_bike | motorcycle motorcycle bicycle
highway | 1 | cow sheep goat horse | 3 9 | walk | car truck
sky | 4 | airplane airplane helicopter | 1 1 1 3 | fly | building mountain tree cloud
sky | 3 | bird | 1 2 9 | fly | tree mountain building
sky | 2 | kite | 1 2 9 9 | fly | people tree building
classroom | 3 | students child people | 1 3 9 9 | read | book laptop book
classroom | 2 | students boy girl | 1 2 3 9 | type | laptop computer
classroom | 1 | man woman | 1 | talk | students table
gym | 3 | people family students | 3 9 9 | celebrate | cake balloon cake
gym | 2 | man woman people | 1 2 3 | selfie | phone camera cake
gym | 1 | man boy woman | 1 2 | hold_item | guitar balloon wine
museum | 2 | airplane motorcycle train clock vase teddy | 1 1 2 | stand_thing | sign people building
museum | 2 | people man woman students | 1 2 3 9 | look | fountain airplane clock vase train
shop | 3 | cake donut sandwich | 1 3 9 9 | served | shelf plate counter basket
shop | 2 | man woman people | 1 1 2 | sell | cake donut book flowers suitcase handbag
shop | 1 | teddy suitcase umbrella clock | 2 3 9 | stand_thing | shelf window teddy
playground | 3 | boy girl child students | 1 2 3 9 | soccer | ball ball
playground | 2 | child boy girl | 1 1 2 | throw | ball frisbee
playground | 1 | child girl boy | 1 1 2 | sit | bench bicycle tree
desert | 2 | truck motorcycle car | 1 1 2 | park | rock mountain tent
desert | 2 | man woman people | 1 2 3 | ride_horse | horse elephant
desert | 1 | elephant goat giraffe | 1 2 3 | wander | rock tree
city_square | 3 | clock church building fountain | 1 1 1 2 | tower | people building tree
city_square | 2 | bird | 2 9 9 | stand | people fountain bench
city_square | 2 | people man woman | 1 2 9 | talk | fountain bench table
city_square | 1 | man | 1 | hold_item | guitar balloon umbrella
"""

# what people wear: action or in/out | items
CLOTHES = {
    "surf": "wetsuit shorts swimsuit wetsuit",
    "carry_board": "wetsuit shorts swimsuit hat",
    "swim": "swimsuit bikini",
    "ski": "jacket helmet coat goggles snowsuit",
    "snowboard": "jacket helmet goggles coat beanie",
    "skate": "shirt helmet t-shirt cap shorts jeans",
    "tennis": "shirt skirt dress shorts hat outfit headband",
    "bat": "uniform helmet jersey cap",
    "pitch": "uniform jersey cap",
    "soccer": "uniform jersey shirt shorts",
    "cook": "apron shirt hat",
    "cut": "apron shirt dress hat",
    "ride_bike": "helmet jacket shirt vest",
    "ride_horse": "hat helmet jacket boots",
    "type": "shirt sweater suit glasses",
    "in": "shirt dress sweater tie suit glasses hat jacket scarf robe",
    "out": "shirt hat jacket coat dress suit cap jeans sunglasses shorts backpack sweater boots scarf hoodie",
}
CLOTHES_COLOURS = "black blue white red green yellow grey brown pink orange purple dark bright striped plaid"

# time | share | ways to say it
TIMES = """
night | .08 | at night; at night time; in the dark; late at night
sunset | .05 | at sunset; at dusk; during sunset; as the sun sets
morning | .03 | in the morning; early in the morning; at dawn
evening | .03 | in the evening; in the late evening
day | .16 | during the day; in the daytime; in the sunlight
"""
WEATHER = """
sunny | .20 | on a sunny day; on a bright sunny day; in the sun; on a warm day; on a beautiful day
cloudy | .07 | on a cloudy day; under a cloudy sky; on an overcast day; on a grey day
rainy | .05 | in the rain; on a rainy day; on a wet day; in rainy weather
windy | .03 | on a windy day; in the wind; on a breezy day
foggy | .02 | on a foggy day; in the fog; on a misty day
cold | .03 | on a cold day; on a chilly day; on a winter day
clear | .05 | on a clear day; under a clear blue sky; on a nice clear day
hot | .02 | on a hot day; on a hot summer day
"""

COLLECTIVES = {
    "sheep": "herd flock", "cow": "herd", "horse": "herd pack", "goat": "herd", "elephant": "herd family", "zebra": "herd", "giraffe": "herd group",
    "deer": "herd", "bird": "flock", "duck": "flock family", "people": "crowd large-group line", "students": "class line crowd", "players": "team",
    "fruit": "bunch pile variety", "vegetables": "pile variety assortment", "flowers": "bouquet bunch", "car": "line row", "bus": "row line fleet",
    "truck": "row line", "motorcycle": "row line", "boat": "fleet row", "donut": "tray box variety", "bicycle": "row rack", "cake": "tray variety",
    "kite": "number", "umbrella": "row", "chair": "row set", "suitcase": "pile stack", "teddy": "pile collection", "book": "stack pile", "airplane": "row fleet",
}  # fmt: skip

# Actions that lead along, down or through a place.
MOVING = {"surf", "walk", "run", "ride_bike", "ride_horse", "ski", "snowboard", "skate", "wander", "drive", "pull_in", "fly", "sail", "take_off"}
